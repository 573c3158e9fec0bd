// What the server says, and how to ask it.

/** A mean with the half-width of its 95 % confidence interval. */
export interface Estimate {
    mean: number | null;
    ci95: number | null;
    n: number;
}

export interface StationAnswer {
    name: string;
    goodput_up_bps: Estimate;
    goodput_down_bps: Estimate;
    goodput_bps: Estimate;
    goodput_share: Estimate;
    airtime_share: Estimate;
}

export interface Answer {
    source: "model" | "glance" | "simulation";
    sentence: string;
    starves: boolean;
    outside?: string[];
    replicas: number;
    measured_s: number;
    goodput_bps: Estimate;
    goodput_up_bps: Estimate;
    goodput_down_bps: Estimate;
    up_flows: number;
    down_flows: number;
    up_down_ratio: Estimate;
    fairness_level: Estimate;
    jain_stations: Estimate;
    delay_mean_s: Estimate;
    delay_p95_s: Estimate;
    stations: StationAnswer[];
}

export interface Refusal {
    line?: number;
    column?: number;
    problem: string;
    fix: string;
}

/** A table of the scenario as it is written. */
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
export type Table = { [key: string]: Json };

export interface Cell {
    name: string;
    stations: string[];
    flows: number;
    run: Table;
    radio: Table;
    ap: Table;
    wire: Table;
    enforce: Json;
}

export interface Document {
    toml: string;
    tables: Table | null;
    error: Refusal | null;
    cell: Cell | null;
    model: Answer | null;
    unknown: string | null;
}

export type Edit =
    | { do: "set"; path: (string | number)[]; value: Json }
    | { do: "add"; station: Table }
    | { do: "copy"; station: number }
    | { do: "delete"; station: number }
    | { do: "move"; station: number; to: number }
    | { do: "paste"; snippet: string };

export interface Scenario {
    name: string;
    toml: string;
}

export interface PhyChoice {
    name: string;
    rates_mbps: number[];
    highest_mcs: number | null;
    widths: string[];
}

export interface Start {
    version: string;
    scenario: Scenario;
    examples: Scenario[];
    phys: PhyChoice[];
    queues: { kind: string; has_limit: boolean }[];
    remedies: number;
    most_stations: number;
    most_seconds: number;
}

export interface Paper {
    id: string;
    title: string;
    figures: {
        id: string;
        name: string;
        title: string;
        shows: string;
        x: string;
        series: { id: string; label: string; xs: string[] }[];
    }[];
}

export interface Progress {
    done: number;
    planned: number;
}

export interface Remedy {
    remedy: string;
    deploy: string;
    needs: string;
    source: string;
    cautions: string[];
    snippet: string;
    answer: Answer;
}

export interface PlanRow {
    meets: boolean;
    deploy: string;
    family: string;
    snippet: string;
    cautions: string[];
    starved: string[];
    fairness: number;
    delay_s: number;
    answer: Answer;
}

export interface Plan {
    met: boolean;
    already_met: boolean;
    tried: number;
    as_is_goodput_bps: number;
    as_is_starved: string[];
    constraints: { goal: string; reached: string; met: boolean; goodput_without_bps: number | null }[];
    not_tried: string[];
    rows: PlanRow[];
}

/** A request that was refused, with what to do about it. */
export class Refused extends Error {
    constructor(readonly refusal: Refusal) {
        super(refusal.problem);
    }
}

const GONE: Refusal = { problem: "the lab does not answer", fix: "is `fairair lab` still running?" };

async function send(path: string, body: unknown, signal?: AbortSignal): Promise<Response> {
    const request: RequestInit = {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(body),
    };
    if (signal) request.signal = signal;
    let response: Response;
    try {
        response = await fetch(path, request);
    } catch (error) {
        if (signal?.aborted) throw error;
        throw new Refused(GONE);
    }
    if (!response.ok) throw new Refused(await refusal(response));
    return response;
}

export async function refusal(response: Response): Promise<Refusal> {
    const text = await response.text();
    try {
        const told = JSON.parse(text) as Refusal;
        if (typeof told.problem === "string") return told;
    } catch {
        // Plain text.
    }
    return { problem: text || response.statusText, fix: "" };
}

export async function start(): Promise<Start> {
    const response = await fetch("/api/start");
    if (!response.ok) throw new Refused(await refusal(response));
    return (await response.json()) as Start;
}

export async function gallery(): Promise<Paper[]> {
    const response = await fetch("/api/gallery");
    if (!response.ok) throw new Refused(await refusal(response));
    return (await response.json()) as Paper[];
}

/** The scenario of a series of a figure at the x of this position. */
export async function figure(paper: string, id: string, series: string, x: number): Promise<Scenario> {
    return (await (await send("/api/gallery", { paper, figure: id, series, x })).json()) as Scenario;
}

export async function read(toml: string): Promise<Document> {
    return (await (await send("/api/read", { toml })).json()) as Document;
}

export async function edit(toml: string, edits: Edit[]): Promise<Document> {
    return (await (await send("/api/edit", { toml, edits })).json()) as Document;
}

export async function air(toml: string, seconds: number, signal: AbortSignal): Promise<ArrayBuffer> {
    return (await send("/api/air", { toml, part: { from_s: null, seconds } }, signal)).arrayBuffer();
}

/** Cuts a stream of server-sent events into its events; `feed` takes text as it comes. */
export class EventReader {
    private rest = "";

    feed(text: string): { event: string; data: string }[] {
        const parts = (this.rest + text).split("\n\n");
        this.rest = parts.pop() ?? "";
        const events = parts.map((part) => {
            let event = "message";
            const data: string[] = [];
            for (const line of part.split("\n")) {
                if (line.startsWith("event: ")) event = line.slice(7);
                else if (line.startsWith("data: ")) data.push(line.slice(6));
            }
            return { event, data: data.join("\n") };
        });
        return events.filter((event) => event.data !== "");
    }
}

/** Runs a job and hands each of its events to `take`. Aborting `signal` cancels the job on the server. */
export async function job(
    path: "/api/run" | "/api/compare" | "/api/plan",
    body: unknown,
    signal: AbortSignal,
    take: (event: string, data: unknown) => void,
): Promise<void> {
    const response = await send(path, body, signal);
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
    const events = new EventReader();
    while (reader) {
        const { done, value } = await reader.read();
        if (done) return;
        for (const { event, data } of events.feed(value)) {
            const parsed: unknown = JSON.parse(data);
            if (event === "failed") throw new Refused(parsed as Refusal);
            take(event, parsed);
        }
    }
}
