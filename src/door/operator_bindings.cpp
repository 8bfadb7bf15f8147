// SPDX-License-Identifier: MIT
// door/operator_bindings: the table of the operators (door/bindings.hpp).
//
// Owns: the table. Must not define: any of them.
#include "door/bindings.hpp"

const talus::OperatorBindings talus::operator_bindings = {
    &::operator new,    &::operator new[],    &::operator new,
    &::operator new[],  &::operator delete,   &::operator delete[],
    &::operator delete, &::operator delete[], &::operator delete[],
};
