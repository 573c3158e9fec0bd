// Files that the page gives away.

import type { Answer, Estimate } from "./api";
import { mbps } from "./format";

/** Hands `text` to the browser as a file. */
export function download(name: string, kind: string, text: string | Blob): void {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type: kind }));
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

/** A cell of a CSV file; what a spreadsheet would take for a formula is a text. */
export function csvCell(text: string): string {
    const plain = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
    return /[",\n\r]/.test(plain) ? `"${plain.replaceAll('"', '""')}"` : plain;
}

/** The stations of an answer: SI units, half-widths of 95 % confidence intervals. */
export function answerCsv(answer: Answer): string {
    const columns = [
        "goodput_up_bps",
        "goodput_down_bps",
        "goodput_bps",
        "goodput_share",
        "airtime_share",
    ] as const;
    const head = ["station", ...columns.flatMap((name) => [name, `${name}_ci95`])];
    const cells = ({ mean, ci95 }: Estimate) => [mean ?? "", ci95 ?? ""].map(String);
    const rows = answer.stations.map((row) => [
        csvCell(row.name),
        ...columns.flatMap((name) => cells(row[name])),
    ]);
    return [head, ...rows].map((row) => row.join(",")).join("\n") + "\n";
}

/** A text as a literal of Python. */
function literal(text: string): string {
    const isPlain = !text.includes("'''") && !text.includes("\\") && !text.endsWith("'");
    return isPlain ? `'''\n${text}'''` : JSON.stringify(text);
}

/** A cell of a notebook that gives the numbers of `answer` on the scenario `toml`. */
export function pythonCell(toml: string, answer: Answer): string {
    const how = {
        model: 'engine="model"',
        glance: "until_ci=0.02, max_replicas=40",
        simulation: `replicas=${answer.replicas}`,
    }[answer.source];
    return (
        `import fairair\n\ncell = fairair.Scenario.from_toml(${literal(toml)})\n` +
        `result = fairair.run(cell, ${how})\nresult.stations\n`
    );
}

/** `text` in XML: no letter of it is markup. */
export function xml(text: string): string {
    return text.replace(/[&<>"']/g, (letter) => `&#${letter.charCodeAt(0)};`);
}

/** The goodputs of the stations as a drawing. */
export function answerSvg(answer: Answer, title: string): string {
    const [left, bar, row] = [150, 420, 24];
    const most = Math.max(1, ...answer.stations.map((station) => station.goodput_bps.mean ?? 0));
    const width = (bps: Estimate) => (((bps.mean ?? 0) / most) * bar).toFixed(1);
    const lines = answer.stations.map((station, index) => {
        const y = 64 + index * row;
        const up = width(station.goodput_up_bps);
        return (
            `<text x="${left - 8}" y="${y + 12}" text-anchor="end">${xml(station.name)}</text>` +
            `<rect x="${left}" y="${y}" width="${up}" height="16" fill="#D55E00"/>` +
            `<rect x="${left + Number(up)}" y="${y}" width="${width(station.goodput_down_bps)}" height="16" fill="#0072B2"/>` +
            `<text x="${left + bar + 60}" y="${y + 12}" text-anchor="end">${mbps(station.goodput_bps.mean)}</text>`
        );
    });
    const height = 76 + answer.stations.length * row;
    return (
        `<svg xmlns="http://www.w3.org/2000/svg" width="680" height="${height}" font-family="sans-serif" font-size="12">` +
        `<rect width="100%" height="100%" fill="#fff"/><text x="12" y="24" font-size="15">${xml(title)}</text>` +
        `<text x="12" y="46" fill="#555">Goodput in Mbit/s: uploads orange, downloads blue</text>${lines.join("")}</svg>\n`
    );
}
