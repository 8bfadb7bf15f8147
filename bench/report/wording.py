# Numbers and findings in words.
#
# Owns: the rounding and naming of figures, and the sentences at the head of the page. A sentence
# exists only if its figures were measured.
#
# SPDX-License-Identifier: MIT

from .figures import RSS, TIME, Figures, counted_workloads

NEAR = 1.05        # up to this ratio two figures are called level
LOSS = 1.10        # from this ratio a workload is called lost


def times(value: float | None) -> str:
    """A ratio with the digits that its size justifies."""
    if value is None:
        return "–"
    if value < 0.995:
        return f"{value:.2f}" if value >= 0.01 else f"{value:.0e}"
    if value < 9.95:
        return f"{value:.2f}"
    if value < 99.95:
        return f"{value:.1f}"
    if value < 999.5:
        return f"{value:.0f}"
    return f"{value / 1000:.1f}k" if value < 9.95e3 else f"{value / 1000:,.0f}k"


def tick(value: float) -> str:
    return f"{value:.10g}" if value < 1000 else amount(value)


def amount(value: float) -> str:
    """A plain number with a letter for thousands, millions and so on."""
    for factor, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= factor:
            return f"{value / factor:.3g}{letter}"
    return f"{value:.3g}"


def memory(kib: float) -> str:
    for unit, name in ((1 << 20, "GiB"), (1 << 10, "MiB")):
        if kib >= unit:
            value = kib / unit
            return f"{value:.0f} {name}" if value >= 99.95 else f"{value:.1f} {name}"
    return f"{kib:.0f} KiB"


def ordinal(number: int) -> str:
    ending = {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{'th' if number % 100 in (11, 12, 13) else ending}"


def plain_time(value: float) -> str:
    """Seconds for most workloads. The programs with a fixed duration give a figure without a
    unit."""
    if value >= 99.95 or value == 0:
        return f"{value:.0f}"
    return f"{value:#.3g}" if value >= 1e-4 else f"{value:.1e}"


def figure(value: float, kind: str) -> str:
    return memory(value) if kind == RSS else plain_time(value)


def span(interval: tuple[float, float] | None) -> str:
    return f"{times(interval[0])} to {times(interval[1])}" if interval else "no interval"


def listed(parts: list[str]) -> str:
    if len(parts) < 2:
        return "".join(parts)
    return ", ".join(parts[:-1]) + " and " + parts[-1]


def percent(value: float) -> str:
    """A ratio as less or more: 0.8 is '20 % less'."""
    if 1 / 1.005 < value < 1.005:
        return "as much"
    if value >= 2:
        return f"{times(value)} times as much"
    part = abs(1 - value) * 100
    shown = f"{part:.0f} %" if part >= 0.95 else f"{part:.1f} %"
    return f"{shown} {'less' if value < 1 else 'more'}"


def leader_sentence(figures: Figures, kind: str, workloads: list[str]) -> str:
    subject = figures.record.subject
    means = {name: mean for name in (subject, *figures.rivals(subject))
             if (mean := figures.mean_to_best(name, kind, workloads))}
    if len(means) < 2:
        return ""
    order = sorted(means, key=lambda name: means[name].value)
    first = order[0]
    word = "time" if kind == TIME else "peak memory"
    lead = "fastest" if kind == TIME else "leanest"
    if subject not in means:
        return f"In {word}, {first} leads; {subject} has no figure."
    behind = f"typically {times(means[subject].value)} times its best rival at each workload"
    if first == subject:
        return (f"{subject} is the {lead} of {len(order)} over all workloads "
                f"({behind}), before {order[1]} ({times(means[order[1]].value)}).")
    return (f"In {word}, {first} leads (typically {times(means[first].value)} times its best rival "
            f"at each workload); {subject} is number {order.index(subject) + 1} of {len(order)} "
            f"({behind}).")


def against_sentence(figures: Figures, workloads: list[str]) -> str:
    """The subject beside the leader in time and the leader in memory among the others."""
    others = figures.rivals(figures.record.subject)
    parts = []
    for kind, word in ((TIME, "time"), (RSS, "memory")):
        to_best = {name: mean.value for name in others
                   if (mean := figures.mean_to_best(name, kind, workloads))}
        if not to_best:
            continue
        peer = min(to_best, key=to_best.get)
        mean = figures.mean_to_other(peer, kind, workloads)
        if mean:
            shown = f" (95 % interval {span(mean.interval)})" if mean.interval else ""
            parts.append(f"{percent(mean.value)} {word} than {peer}{shown}"
                         if percent(mean.value)[-4:] in ("less", "more")
                         else f"{percent(mean.value)} {word} as {peer}{shown}")
    return f"It takes {listed(parts)}." if parts else ""


def losses(figures: Figures, kind: str, workloads: list[str]) -> list[tuple[str, str, float]]:
    """(workload, best, ratio) where the subject is behind, worst first."""
    subject = figures.record.subject
    found = [(workload, figures.best(workload, subject, kind), ratio) for workload in workloads
             if (ratio := figures.ratio_to_best(workload, subject, kind)) and ratio >= LOSS]
    return sorted(found, key=lambda loss: -loss[2])


def losses_sentence(figures: Figures, kind: str, workloads: list[str]) -> str:
    subject = figures.record.subject
    ratios = [ratio for workload in workloads
              if (ratio := figures.ratio_to_best(workload, subject, kind))]
    if not ratios or len(figures.record.allocators) < 2:
        return ""
    won = figures.wins(workloads, subject, kind)
    level = sum(1 < ratio <= NEAR for ratio in ratios)
    lost = losses(figures, kind, workloads)
    word = "In time" if kind == TIME else "In memory"
    sentence = f"{word} {subject} is best on {won} of {len(ratios)} workloads"
    if level:
        sentence += f" and within {NEAR - 1:.0%} of the best on {level} more".replace("%", " %")
    if not lost:
        return sentence + f"; it loses none by more than {round((LOSS - 1) * 100)} %."
    worst = listed([f"{workload} ({times(ratio)} times {best})"
                    for workload, best, ratio in lost[:3]])
    return (sentence + f"; it loses {len(lost)} by {round((LOSS - 1) * 100)} % or more, "
            f"most of all {worst}.")


def begun(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]


def findings(figures: Figures) -> list[str]:
    """Two paragraphs: the leaders, and the subject's losses."""
    workloads = counted_workloads(figures.record.workloads)
    paragraphs = [[leader_sentence(figures, TIME, workloads),
                   leader_sentence(figures, RSS, workloads),
                   against_sentence(figures, workloads)],
                  [losses_sentence(figures, TIME, workloads),
                   losses_sentence(figures, RSS, workloads)]]
    return [" ".join(begun(sentence) for sentence in paragraph if sentence).replace(" %", "\u00a0%")
            for paragraph in paragraphs if any(paragraph)]


def cautions(figures: Figures) -> list[str]:
    """The reasons not to quote these figures."""
    record, found = figures.record, []
    rounds, scale = record.setting("repeat"), record.setting("scale")
    if isinstance(scale, (int, float)) and scale < 1:
        found.append(f"The programs did only {scale:g} of their full work, which favours "
                     "a fast start.")
    if isinstance(rounds, int) and rounds < 5:
        found.append(f"Only {rounds} round{'s' if rounds > 1 else ''}: intervals are rough "
                     "or missing.")
    noisy = sum(cell.is_noisy for cell in figures.cells.values())
    if noisy:
        found.append(f"{noisy} of {len(figures.cells)} medians rest on noisy runs alone, because "
                     "other programs used the machine; they are marked with ~.")
    failed = sum(map(len, figures.failed.values()))
    if failed:
        found.append(f"{failed} of {figures.runs()} runs failed; they are in no figure and "
                     "are listed with their reasons under each workload.")
    return found
