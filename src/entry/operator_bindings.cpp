// SPDX-License-Identifier: MIT
// entry/operator_bindings: the table of the operators (entry/bindings.hpp).
//
// Owns: the table. Must not define: any of them.
#include "entry/bindings.hpp"

const talus::core::OperatorBindings talus::core::operator_bindings = {
    &::operator new,    &::operator new[],    &::operator new,
    &::operator new[],  &::operator delete,   &::operator delete[],
    &::operator delete, &::operator delete[], &::operator delete[],
};
