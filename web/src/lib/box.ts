// The live box: what its server says, and how to ask it.

import { Refused, refusal } from "./api";

export interface Pool {
    ap: string;
    channel: string | null;
    interface: string;
    control: string;
    capacity: string;
    state: string;
    reason: string;
    stations: number;
    rate: string;
    backlog: number;
    drops: number;
    rtt_s: number | null;
    rtt_above_baseline_s: number | null;
    newcomers: { bytes: number; backlog: number; drops: number };
    trouble: string | null;
}

export interface Setting {
    station: string;
    plan: string | null;
    weight: number | null;
    cap: string | null;
    until: string | null;
}

export interface Station {
    name: string;
    ap: string;
    mac: string | null;
    addresses: string[];
    source: string;
    setting: Setting | null;
    weight: number;
    cap: string | null;
    class: string;
    rate: string;
    bytes: number;
    backlog: number;
    wan_backlog: number;
    drops: number;
    wan_drops: number;
}

export interface Status {
    name: string;
    uptime_s: number;
    policy: string;
    confirm_within_s: number | null;
    troubles: string[];
    notes: string[];
    pools: Pool[];
    wan: { direction: string; capacity: string; rate: string; binds: boolean; backlog: number }[];
}

export interface Look {
    status: Status;
    stations: Station[];
    absent: Setting[];
}

export interface Explanation {
    because: string[];
}

export interface Decided {
    at_s: number;
    ap: string;
    capacity_bps: number;
    state: string;
    reason: string;
    of: number;
}

/** What a station got in a span of time. */
export interface Got {
    name: string;
    bytes: number;
    dropped: number;
    /** Mean rates of equal parts, in bit/s, both directions; the oldest first. */
    bps: number[];
}

export interface Past {
    now_s: number;
    span_s: number;
    part_s: number;
    decisions: Decided[];
    goodput: Got[];
    /** End of the last part with rates, and the length of a part, in seconds. */
    goodput_to_s: number;
    goodput_part_s: number;
    events: { at_s: number; name: string; what: string }[];
    changes: { at_s: number; name: string; what: string }[];
}

export type Span = "hour" | "day" | "week";

export type Change =
    | { do: "set"; station: string; weight?: number; cap?: string; plan?: string; until?: string }
    | { do: "unset"; station: string }
    | { do: "confirm" }
    | { do: "stop" };

const GONE = {
    problem: "the dashboard's server does not answer",
    fix: "is `fairair vsb dashboard` still running?",
};

async function ask(path: string, request: RequestInit = {}): Promise<Response> {
    let response: Response;
    try {
        response = await fetch(path, request);
    } catch {
        throw new Refused(GONE);
    }
    if (!response.ok) throw new Refused(await refusal(response));
    return response;
}

const json = async <T>(path: string) => (await (await ask(path)).json()) as T;

export const look = () => json<Look>("/api/look");
export const past = (span: Span) => json<Past>(`/api/history/${span}`);
export const explain = (station: string) => json<Explanation>(`/api/explain/${encodeURIComponent(station)}`);

/** Makes a change with the token of the box. */
export async function change(token: string, what: Change): Promise<void> {
    const headers = { "content-type": "application/json", "x-fairair-token": token };
    await ask("/api/change", { method: "POST", headers, body: JSON.stringify(what) });
}

/** Whether `token` is the box's; throws with the reason when it is not. */
export async function prove(token: string): Promise<void> {
    await ask("/api/token", { method: "POST", headers: { "x-fairair-token": token } });
}

const UNITS: Record<string, number> = { "bit/s": 1, "kbit/s": 1e3, "Mbit/s": 1e6, "Gbit/s": 1e9 };

/** A rate as the box writes it ("5.5 Mbit/s"), in bit/s. */
export function bps(text: string): number {
    const [value, unit] = text.split(" ");
    return Number(value) * (UNITS[unit ?? ""] ?? NaN);
}

/** A rate with the unit that fits. */
export function rate(value: number): string {
    if (value >= 999_500)
        return `${(value / 1e6).toFixed(value >= 99.95e6 ? 0 : value >= 9.995e6 ? 1 : 2)} Mbit/s`;
    return value >= 1000 ? `${(value / 1e3).toFixed(0)} kbit/s` : `${value.toFixed(0)} bit/s`;
}

/** Steps as high as `values` of `most`, as an SVG path that is closed along the bottom. */
export function steps(values: number[], width: number, height: number, most: number): string {
    const wide = width / Math.max(1, values.length);
    const y = (value: number) => (height - (value / Math.max(1, most)) * height).toFixed(1);
    const path = values.map((value, index) => `V${y(value)}H${((index + 1) * wide).toFixed(1)}`);
    return `M0 ${height}${path.join("")}V${height}Z`;
}

const REASONS: Record<string, string> = {
    start: "the value to begin with",
    kept: "the value that the daemon before had found",
    "delay-low": "the delay is low: there is room",
    "delay-very-low": "the delay is very low: faster up",
    "delay-high": "the delay is above its target",
    overload: "the cell delivers less than C",
    "probe-lost": "a probe was lost",
    "no-backlog": "nobody waits: no reason to rise",
    trial: "a short trial below C looks for a queue in the cell",
    "no-queue": "the trial found no queue in the cell",
    "no-delay": "packets wait in the box, and nobody answers probes",
    quiet: "too little traffic",
    silence: "no sign of life from any station",
    unanswered: "stations send, but answer no probe",
    recovered: "signals are back",
    bound: "C stands at its bound",
    mix: "other stations are served, whose bytes take more or less air",
};

/** A reason in words; one that this page does not know stays as it is. */
export const reason = (word: string) => REASONS[word] ?? word;

/** What a change over the control socket was, from the journal's JSON. */
export function changed(what: string): string {
    let ask: unknown;
    try {
        ask = JSON.parse(what);
    } catch {
        return what;
    }
    if (typeof ask === "string") return ask;
    const [[verb, of] = ["", null]] = Object.entries(ask as Record<string, unknown>);
    if (typeof of === "string") return `${verb} ${of}`;
    const parts = Object.entries((of ?? {}) as Record<string, unknown>).filter(
        ([key, value]) => key !== "station" && value !== null,
    );
    const station = (of as { station?: string } | null)?.station ?? "";
    return `${verb} ${station}: ${parts.map(([key, value]) => `${key} ${String(value)}`).join(", ")}`;
}
