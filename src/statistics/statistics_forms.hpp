// SPDX-License-Identifier: MIT
// statistics/statistics_forms: statistics as text for people, JSON, CSV and OpenMetrics.
//
//   form         layout                                                    an unknown value is
//   JSON         one line, an object; the dots of the names are nesting    null
//   CSV          RFC 4180: one header, one row a sample, lines end in      empty
//                CR LF, the first table only
//   OpenMetrics  one exposition that ends with "# EOF"                     left out
//
// Owns: the layouts. All forms leave out classes without a slab, and escape the names of instances.
// Invariants: all words come from the table of settings/statistics. It allocates nothing. Writing a
// form may wait for its reader, so no lock of the heap is held meanwhile. Called on: any thread,
// the background thread included. Must not know: when and where statistics are printed.
#ifndef TALUS_STATISTICS_STATISTICS_FORMS_HPP
#define TALUS_STATISTICS_STATISTICS_FORMS_HPP

#include "base/base.hpp"
#include "settings/version.hpp"
#include "classes/size_class.hpp"
#include "settings/statistics.hpp"
#include "os/text.hpp"
#include "heap/instance.hpp"
#include "inspect/instance_totals.hpp"
#include "inspect/totals.hpp"
#include "statistics/escaped.hpp"
#include "statistics/statistics.hpp"
#include "statistics/statistics_output.hpp"

namespace talus::core {

// Calls visit(number, thread) for at most `most` threads, a few at a time.
template <typename Visit>
void visit_threads(size_t most, Visit visit) noexcept {
  constexpr size_t at_a_time = 8;
  ThreadTotals threads[at_a_time];
  size_t number = 0;
  for (size_t found = at_a_time; found == at_a_time && number < most;) {
    const size_t wanted = most - number < at_a_time ? most - number : at_a_time;
    found = collect_threads(number, threads, wanted);
    for (size_t i = 0; i < found; i++) visit(number++, threads[i]);
  }
}

// The most threads that a form lists.
inline constexpr size_t threads_told_max = 1024;
inline constexpr size_t threads_in_text_max = 16;

// The same for instances.
template <typename Visit>
void visit_instances(size_t most, Visit visit) noexcept {
  constexpr size_t at_a_time = 8;
  InstanceTotals instances[at_a_time];
  size_t next = 0;
  for (size_t found = at_a_time, seen = 0; found == at_a_time && seen < most; seen += found) {
    const size_t wanted = most - seen < at_a_time ? most - seen : at_a_time;
    found = collect_instances(next, instances, wanted);
    for (size_t i = 0; i < found; i++) visit(instances[i]);
  }
}
inline constexpr size_t instances_told_max = 1024;
inline constexpr size_t instances_in_text_max = 16;
static_assert(Instance::name_bytes_max * escaped_bytes_max < StatisticsOutput::item_bytes_max / 2,
              "a name and what belongs to it are one item");

namespace text_form {

// A number with three decimal places, its whole part in `columns` columns.
template <typename Text>
void put_with_places(Text& text, uint64_t thousandths, unsigned columns) noexcept {
  text.put_number(thousandths / 1000, columns).put_character('.');
  const uint64_t part = thousandths % 1000;
  text.put_character(static_cast<char>('0' + part / 100))
      .put_character(static_cast<char>('0' + part / 10 % 10))
      .put_character(static_cast<char>('0' + part % 10));
}

inline void put_row(StatisticsOutput& out, const StatisticRow& row, uint64_t value) noexcept {
  constexpr size_t label_columns = 26;
  constexpr unsigned value_columns = 9;
  auto& text = out.next();
  text.put("  ").put(row.label);
  for (size_t at = row.label_length; at < label_columns; at++) text.put_character(' ');
  switch (row.unit) {
    case StatisticUnit::bytes:
      put_with_places(text, value / mib * 1000 + value % mib * 1000 / mib, value_columns);
      text.put(" MiB\n");
      break;
    case StatisticUnit::ms:
      put_with_places(text, value, value_columns);
      text.put(" s\n");
      break;
    case StatisticUnit::none:
      text.put_number(value, value_columns).put("\n");
      break;
  }
}

template <size_t Count>
void put_columns(StatisticsOutput& out, const char* title, const char* key,
                 const StatisticRow (&rows)[Count], const char* last = "") noexcept {
  auto& text = out.next();
  text.put(title).put("\n  ").put(key);
  for (const StatisticRow& row : rows) {
    for (size_t at = row.label_length; at < 12; at++) text.put_character(' ');
    text.put(row.label);
  }
  text.put(last).put("\n");
}

inline void put_classes(StatisticsOutput& out, const HeapTotals& totals) noexcept {
  put_columns(out, "blocks by size class", "  size", class_statistic_rows);
  for (size_t index = 0; index < class_count; index++) {
    if (totals.classes[index].slabs == 0) continue;
    auto& text = out.next().put("  ").put_number(size_class_rows.rows[index].block_bytes, 6);
    for (size_t field = 0; field < class_statistic_count; field++) {
      text.put_number(class_value(totals.classes[index], field), 12);
    }
    text.put("\n");
  }
}

inline void put_threads(StatisticsOutput& out, const HeapTotals& totals) noexcept {
  put_columns(out, "bytes that threads hold free, as far as seen from here", "thread",
              thread_statistic_rows);
  visit_threads(threads_in_text_max, [&out](size_t number, const ThreadTotals& thread) noexcept {
    auto& text = out.next().put("  ").put_number(number, 6);
    for (size_t field = 0; field < thread_statistic_count; field++) {
      const uint64_t value = thread_value(thread, field);
      if (value == statistic_unknown) {
        text.put("           -");
      } else {
        text.put_number(value, 12);
      }
    }
    text.put("\n");
  });
  const size_t threads = totals.cache_count - totals.left_count;
  if (threads <= threads_in_text_max) return;
  out.next().put("  and ").put_number(threads - threads_in_text_max).put(" more\n");
}

inline void put_instances(StatisticsOutput& out, const HeapTotals& totals) noexcept {
  if (totals.instance_count == 0) return;
  put_columns(out, "instances: heaps that the program made", "number", instance_statistic_rows,
              "  name");
  visit_instances(instances_in_text_max, [&out](const InstanceTotals& heap) noexcept {
    auto& text = out.next().put("  ").put_number(heap.number, 6);
    for (size_t field = 0; field < instance_statistic_count; field++) {
      text.put(" ").put_number(instance_value(heap, field), 11);
    }
    if (heap.name[0] != '\0') put_escaped(text.put("  "), heap.name, NameForm::people);
    text.put("\n");
  });
  if (totals.instance_count <= instances_in_text_max) return;
  out.next().put("  and ").put_number(totals.instance_count - instances_in_text_max).put(" more\n");
}

inline void print(StatisticsOutput& out, const Statistics& all) noexcept {
  out.next()
      .put("talus ")
      .put(version_text)
      .put(", process ")
      .put_number(all.values[static_cast<size_t>(StatisticId::process_id)])
      .put("\n");
  size_t row = 1;  // the process is named already
  for (const StatisticGroup& group : statistic_groups) {
    bool has_title = false;
    for (; row < statistic_count && is_same_name(statistic_rows[row].group, group.name); row++) {
      if (!all.is_known[row]) continue;
      if (!has_title) out.next().put(group.title).put("\n");
      has_title = true;
      put_row(out, statistic_rows[row], all.values[row]);
    }
  }
  put_classes(out, all.totals);
  put_threads(out, all.totals);
  put_instances(out, all.totals);
  out.flush();
}

}  // namespace text_form

namespace json_form {

inline void put_fields(StatisticsOutput& out, uint64_t key, const StatisticRow* rows,
                       const uint64_t* values, size_t count, bool is_first) noexcept {
  auto& text = out.next();
  text.put(is_first ? "\"" : ",\"").put_number(key).put("\":{");
  for (size_t field = 0; field < count; field++) {
    text.put(field == 0 ? "\"" : ",\"").put(rows[field].field).put("\":");
    if (values[field] == statistic_unknown) {
      text.put("null");
    } else {
      text.put_number(values[field]);
    }
  }
  text.put("}");
}

inline void put_classes(StatisticsOutput& out, const HeapTotals& totals) noexcept {
  out.next().put(",\"class\":{");
  bool is_first = true;
  for (size_t index = 0; index < class_count; index++) {
    if (totals.classes[index].slabs == 0) continue;
    uint64_t values[class_statistic_count];
    for (size_t field = 0; field < class_statistic_count; field++) {
      values[field] = class_value(totals.classes[index], field);
    }
    put_fields(out, size_class_rows.rows[index].block_bytes, class_statistic_rows, values,
               class_statistic_count, is_first);
    is_first = false;
  }
  out.next().put("}");
}

inline void put_threads(StatisticsOutput& out) noexcept {
  out.next().put(",\"thread\":{");
  visit_threads(threads_told_max, [&out](size_t number, const ThreadTotals& thread) noexcept {
    uint64_t values[thread_statistic_count];
    for (size_t field = 0; field < thread_statistic_count; field++) {
      values[field] = thread_value(thread, field);
    }
    put_fields(out, number, thread_statistic_rows, values, thread_statistic_count, number == 0);
  });
  out.next().put("}");
}

// By number, because names may be equal.
inline void put_instances(StatisticsOutput& out) noexcept {
  out.next().put(",\"instance\":{");
  bool is_first = true;
  visit_instances(instances_told_max, [&](const InstanceTotals& heap) noexcept {
    auto& text = out.next().put(is_first ? "\"" : ",\"").put_number(heap.number);
    put_escaped(text.put("\":{\"name\":\""), heap.name, NameForm::json).put("\"");
    out.next();
    for (size_t field = 0; field < instance_statistic_count; field++) {
      text.put(",\"")
          .put(instance_statistic_rows[field].field)
          .put("\":")
          .put_number(instance_value(heap, field));
    }
    text.put("}");
    is_first = false;
  });
  out.next().put("}");
}

inline void print(StatisticsOutput& out, const Statistics& all) noexcept {
  out.next().put("{\"version\":\"").put(version_text).put("\"");
  for (size_t row = 0; row < statistic_count; row++) {
    const bool begins =
        row == 0 || !is_same_name(statistic_rows[row].group, statistic_rows[row - 1].group);
    auto& text = out.next();
    if (begins) {
      text.put(row == 0 ? ",\"" : "},\"").put(statistic_rows[row].group).put("\":{");
    }
    text.put(begins ? "\"" : ",\"").put(statistic_rows[row].field).put("\":");
    if (all.is_known[row]) {
      text.put_number(all.values[row]);
    } else {
      text.put("null");
    }
  }
  out.next().put("}");
  put_classes(out, all.totals);
  put_threads(out);
  put_instances(out);
  out.next().put("}\n");
  out.flush();
}

}  // namespace json_form

namespace csv_form {

// A sample is one write, so that samples of several processes in one file do not mix.
static_assert(statistic_count * 21 < StatisticsOutput::buffer_bytes, "a row fits in the buffer");

inline void print(StatisticsOutput& out, const Statistics& all, bool with_header) noexcept {
  if (with_header) {
    for (size_t row = 0; row < statistic_count; row++) {
      out.next()
          .put(row == 0 ? "" : ",")
          .put(statistic_rows[row].group)
          .put(".")
          .put(statistic_rows[row].field);
    }
    out.next().put("\r\n");
    out.flush();
  }
  for (size_t row = 0; row < statistic_count; row++) {
    if (row != 0) out.text.put(",");
    if (all.is_known[row]) out.text.put_number(all.values[row]);
  }
  out.text.put("\r\n");
  out.flush();
}

}  // namespace csv_form

namespace openmetrics_form {

template <typename Text>
Text& put_name(Text& text, const StatisticRow& row) noexcept {
  return text.put("talus_").put(row.group).put("_").put(row.field);
}
inline void put_head(StatisticsOutput& out, const StatisticRow& row) noexcept {
  auto& text = out.next();
  put_name(text.put("# TYPE "), row)
      .put(row.kind == StatisticKind::counter ? " counter\n" : " gauge\n");
  if (row.unit != StatisticUnit::none) {
    put_name(text.put("# UNIT "), row).put(row.unit == StatisticUnit::bytes ? " bytes\n" : " ms\n");
  }
  put_name(text.put("# HELP "), row).put(" ").put(row.help).put("\n");
}

inline void put_classes(StatisticsOutput& out, const HeapTotals& totals) noexcept {
  for (size_t field = 0; field < class_statistic_count; field++) {
    put_head(out, class_statistic_rows[field]);
    for (size_t index = 0; index < class_count; index++) {
      if (totals.classes[index].slabs == 0) continue;
      put_name(out.next(), class_statistic_rows[field])
          .put("{size=\"")
          .put_number(size_class_rows.rows[index].block_bytes)
          .put("\"} ")
          .put_number(class_value(totals.classes[index], field))
          .put("\n");
    }
  }
}

inline void put_threads(StatisticsOutput& out) noexcept {
  for (size_t field = 0; field < thread_statistic_count; field++) {
    const StatisticRow& row = thread_statistic_rows[field];
    put_head(out, row);
    const auto put_thread = [&](size_t number, const ThreadTotals& thread) noexcept {
      const uint64_t value = thread_value(thread, field);
      if (value == statistic_unknown) return;
      put_name(out.next(), row)
          .put(row.kind == StatisticKind::counter ? "_total{thread=\"" : "{thread=\"")
          .put_number(number)
          .put("\"} ")
          .put_number(value)
          .put("\n");
    };
    visit_threads(threads_told_max, put_thread);
  }
}

// Two labels, because only the number is unique.
inline void put_instances(StatisticsOutput& out, const HeapTotals& totals) noexcept {
  if (totals.instance_count == 0) return;
  for (size_t field = 0; field < instance_statistic_count; field++) {
    const StatisticRow& row = instance_statistic_rows[field];
    put_head(out, row);
    visit_instances(instances_told_max, [&](const InstanceTotals& heap) noexcept {
      auto& text = put_name(out.next(), row).put("{instance=\"").put_number(heap.number);
      put_escaped(text.put("\",heap=\""), heap.name, NameForm::openmetrics)
          .put("\"} ")
          .put_number(instance_value(heap, field))
          .put("\n");
    });
  }
}

inline void print(StatisticsOutput& out, const Statistics& all) noexcept {
  for (size_t row = 0; row < statistic_count; row++) {
    if (!all.is_known[row]) continue;
    put_head(out, statistic_rows[row]);
    const bool is_counter = statistic_rows[row].kind == StatisticKind::counter;
    put_name(out.next(), statistic_rows[row])
        .put(is_counter ? "_total " : " ")
        .put_number(all.values[row])
        .put("\n");
  }
  put_classes(out, all.totals);
  put_threads(out);
  put_instances(out, all.totals);
  out.next().put("# EOF\n");
  out.flush();
}

}  // namespace openmetrics_form

}  // namespace talus::core

#endif  // TALUS_STATISTICS_STATISTICS_FORMS_HPP
