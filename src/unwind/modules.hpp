// SPDX-License-Identifier: MIT
// unwind/modules: which module has a code address.
//
// glibc 2.35 and later answers without a lock (_dl_find_object). Elsewhere there is a list, which a
// thread renews while it is in no call of Talus. Where libc lists nothing, it has the program
// alone. The kernel's own image is always in the list.
//
// Owns: the list, and the generations. A generation stands for a module at its addresses. A module
// that was unloaded, and another that has its addresses now, have different ones: their bounds,
// their tables or their build ids differ. Invariants: a generation is given once. The list is read
// whole or not at all: a reader that is overtaken finds nothing. Called on: any thread and in
// signal handlers, without a lock; renew() on one thread at a time. Must not know: what tables say.
// Format: System V gABI, "Program Header".
#ifndef TALUS_UNWIND_MODULES_HPP
#define TALUS_UNWIND_MODULES_HPP

#include "base/base.hpp"
#include "os/bytes.hpp"
#include "unwind/cfi_find.hpp"
#include "unwind/rule_table.hpp"
#include "unwind/table_reader.hpp"

namespace talus::core::unwind {

// As libc defines them (dlfcn.h, link.h).
struct FoundObject {
  unsigned long long flags;
  void *map_begin, *map_end, *link_map, *unwind_header;
  unsigned long long reserved[7];
};
using FindObject = int(void* code, FoundObject* found);

struct ProgramSegment {
  uint32_t type, flags;
  uint64_t offset, address, physical_address, file_bytes, memory_bytes, alignment;
};
struct ListedObject {
  uintptr_t bias;
  const char* name;
  const ProgramSegment* segments;
  uint16_t segment_count;
};
using ListObjects = int(int (*visit)(ListedObject* object, size_t bytes, void* with), void* with);

inline constexpr uint32_t segment_load = 1, segment_note = 4, segment_unwind = 0x6474e550;

// A module of these segments; without bounds: none of them is loaded.
inline Module module_of(uintptr_t bias, const ProgramSegment* segments, size_t count) noexcept {
  Module module{~uintptr_t{0}, 0, 0};
  for (size_t i = 0; i < count; i++) {
    const uintptr_t begin = bias + segments[i].address, end = begin + segments[i].memory_bytes;
    if (segments[i].type == segment_unwind) module.header = begin;
    if (segments[i].type != segment_load) continue;
    if (begin < module.begin) module.begin = begin;
    if (end > module.end) module.end = end;
  }
  return module.end != 0 ? module : Module{};
}

// The start of an ELF file in memory.
struct ImageHead {
  uint8_t magic[4], facts[12];
  uint16_t type, machine;
  uint32_t version;
  uint64_t entry, segments, sections;
  uint32_t flags;
  uint16_t head_bytes, segment_bytes, segment_count, section_bytes, section_count, section_names;
};
static_assert(sizeof(ImageHead) == 64 && sizeof(ProgramSegment) == 56, "as ELF says");

// The segments of an image at this address, if they lie on its first page; null: there are none.
inline const ProgramSegment* segments_of(uintptr_t image, size_t& count) noexcept {
  count = 0;
  ProvenPage page;
  if (image % proof_bytes != 0 || !page.can_read(image, 8)) return nullptr;
  const auto& head = *reinterpret_cast<const ImageHead*>(image);
  constexpr uint8_t magic[] = {0x7f, 'E', 'L', 'F', 2};
  for (size_t i = 0; i < sizeof magic; i++) {
    if (reinterpret_cast<const uint8_t*>(image)[i] != magic[i]) return nullptr;
  }
  if (head.segment_bytes != sizeof(ProgramSegment) || head.segments % 8 != 0) return nullptr;
  const size_t bytes = head.segment_count * sizeof(ProgramSegment);
  if (head.segments > proof_bytes || bytes > proof_bytes - head.segments) return nullptr;
  count = head.segment_count;
  return reinterpret_cast<const ProgramSegment*>(image + head.segments);
}
// The same as a module, for an image that is mapped as one piece.
inline Module module_of_image(uintptr_t image) noexcept {
  size_t count = 0;
  const ProgramSegment* segments = segments_of(image, count);
  for (size_t i = 0; i < count; i++) {
    if (segments[i].type != segment_load) continue;
    return module_of(image + segments[i].offset - segments[i].address, segments, count);
  }
  return {};
}

inline constexpr size_t content_bytes = 16;  // of a build id, or of the table for unwinding

// Where the build id of a module is, if it lies on the first page; 0: there is none.
inline uintptr_t build_id_of(const Module& module) noexcept {
  constexpr uint32_t build_id = 3, name_bytes = 4;  // "GNU"
  size_t count = 0;
  const ProgramSegment* segments = segments_of(module.begin, count);
  for (size_t i = 0; i < count; i++) {
    const uint64_t offset = segments[i].offset, bytes = segments[i].file_bytes;
    if (segments[i].type != segment_note || offset > proof_bytes) continue;
    if (bytes > proof_bytes - offset) continue;
    TableReader reader(module.begin + offset, module.begin + offset + bytes);
    while (!reader.is_at_end()) {
      const auto named = reader.read<uint32_t>(), described = reader.read<uint32_t>();
      const auto type = reader.read<uint32_t>();
      if (type == build_id && named == name_bytes && described >= content_bytes) {
        reader.skip(name_bytes);
        return reader.is_good() ? reader.at() : 0;
      }
      reader.skip(round_up(named, 4) + round_up(described, 4));
    }
  }
  return 0;
}

// Gives modules their generations.
class ModuleGenerations {
 public:
  static constexpr size_t module_count_max = 1024;

  // none: there is no room for another module.
  Generation of(const Module& module) noexcept {
    if (module.header == 0) return Generation::none;
    size_t own = 0;  // the row that was made for this module
    for (size_t step = 0; step < steps_max; step++) {
      Atomic<uint32_t>& slot = slots_[place_of(module, step)];
      uint32_t row = slot.load_acquire();
      if (row == 0) {
        if (own == 0 && (own = make_row(module)) == 0) return Generation::none;
        if (slot.cas_acq_rel(row, static_cast<uint32_t>(own))) row = static_cast<uint32_t>(own);
      }
      TALUS_ASSERT(row != 0 && row < module_count_max);
      if (rows_[row].is(module)) return static_cast<Generation>(row);
    }
    return Generation::none;
  }

 private:
  static constexpr size_t slot_count = 4 * module_count_max, steps_max = 64;

  struct Row {
    Module module;
    uintptr_t content_at = 0;
    uint64_t content[content_bytes / 8] = {};

    bool is(const Module& other) const noexcept {
      if (module.begin != other.begin || module.end != other.end) return false;
      if (module.header != other.header) return false;
      uint64_t now[content_bytes / 8];
      copy_bytes(now, reinterpret_cast<const void*>(content_at), content_bytes);
      return now[0] == content[0] && now[1] == content[1];
    }
  };

  static size_t place_of(const Module& module, size_t step) noexcept {
    return ((module.begin * 0x9e3779b97f4a7c15u >> 40) + step) % slot_count;
  }
  // 0: there is no room. A row that loses its slot to the same module is lost.
  TALUS_APART size_t make_row(const Module& module) noexcept {
    if (shared_rows_.load_hint() >= module_count_max - 1) return 0;
    const size_t row = shared_rows_.claim(1) + 1;
    if (row >= module_count_max) return 0;
    rows_[row].module = module;
    const uintptr_t build_id = build_id_of(module);
    rows_[row].content_at = build_id != 0 ? build_id : module.header;
    if (build_id == 0 && module.end - module.header < content_bytes) return 0;
    copy_bytes(rows_[row].content, reinterpret_cast<const void*>(rows_[row].content_at),
               content_bytes);
    return row;
  }

  Atomic<uint32_t> slots_[slot_count];
  Row rows_[module_count_max];  // row 0 is none
  Atomic<uint64_t> shared_rows_;
};

// Modules that libc does not find by address, or all where it does not find any.
class ModuleList {
 public:
  static constexpr size_t module_count_max = 512;

  // The module with this code; without bounds: there is none, or the list was renewed meanwhile.
  Module find(uintptr_t code) const noexcept {
    const uint64_t version = shared_version_.load_acquire();
    const Copy& copy = copies_[version % 2];
    const size_t count = copy.shared_count.load_acquire();
    Module found;
    for (size_t i = 0; i < count && found.end == 0; i++) {
      const Row& row = copy.rows[i];
      const Module one{row.shared_begin.load_acquire(), row.shared_end.load_acquire(),
                       row.shared_header.load_acquire()};
      if (one.has(code)) found = one;
    }
    return shared_version_.load_acquire() == version ? found : Module{};
  }

  // Makes the list anew: these images (0: none), and what libc lists (null: nothing). Not within a
  // call of Talus, because libc may lock its own list.
  void renew(uintptr_t kernel_image, uintptr_t program_image, ListObjects* list_objects) noexcept {
    const uint64_t version = shared_version_.load_own();
    Copy& next = copies_[(version + 1) % 2];
    next.shared_count.store_release(0);
    if (kernel_image != 0) next.add(module_of_image(kernel_image));
    if (program_image != 0) next.add(module_of_image(program_image));
    if (list_objects != nullptr) {
      list_objects(
          [](ListedObject* object, size_t, void* copy) noexcept {
            static_cast<Copy*>(copy)->add(
                module_of(object->bias, object->segments, object->segment_count));
            return 0;
          },
          &next);
    }
    shared_version_.exchange_acq_rel(version + 1);  // before the next one writes to this copy
  }

 private:
  struct Row {
    Atomic<uintptr_t> shared_begin, shared_end, shared_header;
  };
  struct Copy {
    Atomic<size_t> shared_count;
    Row rows[module_count_max];

    void add(const Module& module) noexcept {
      const size_t count = shared_count.load_own();
      if (module.end == 0 || count == module_count_max) return;
      rows[count].shared_begin.store_release(module.begin);
      rows[count].shared_end.store_release(module.end);
      rows[count].shared_header.store_release(module.header);
      shared_count.store_release(count + 1);
    }
  };

  Atomic<uint64_t> shared_version_;  // its lowest bit says which copy is read
  Copy copies_[2];
};

}  // namespace talus::core::unwind

#endif  // TALUS_UNWIND_MODULES_HPP
