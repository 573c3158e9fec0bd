// The air of a run: what the server sends, and how a part of it is drawn on a canvas.

/** What a PPDU is, by number. */
export const KINDS = ["data", "TCP ACK", "ACK", "BlockAck", "control"] as const;
const [DATA, TCP_ACK] = [0, 1];
const ROW = 28;

interface Head {
    from_s: number;
    to_s: number;
    is_cut: boolean;
    nodes: string[];
    rates_bps: number[];
    rows: number;
    /** Flows by their number; `node` is a position in `nodes`. */
    flows: { node: number; direction: "up" | "down" }[];
    queue: Waiting;
}

/** The AP's queue and the congestion windows, by flow, and what the queue dropped. */
export interface Waiting {
    at_s: number[];
    packets: number[][];
    cwnd: number[][];
    drops: { at_s: number; flow: number; what: string; why: string }[];
    dropped: number;
}

/** The PPDUs of a part of a run, column by column, in the order of their start. */
export interface Trace extends Head {
    at: Float64Array;
    /** Seconds on the air. */
    duration: Float64Array;
    bytes: Uint32Array;
    sender: Uint16Array;
    receiver: Uint16Array;
    mpdus: Uint16Array;
    lost: Uint16Array;
    kind: Uint8Array;
    collided: Uint8Array;
    rate: Uint8Array;
    retries: Uint8Array;
    /** The longest PPDU, in seconds. */
    longest: number;
    /** Most MPDUs of a PPDU. */
    largest: number;
}

/** Reads what `/api/air` sends. */
export function parse(buffer: ArrayBuffer): Trace {
    const view = new DataView(buffer);
    const length = view.getUint32(0, true);
    const head = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length))) as Head;
    const n = head.rows;
    const trace: Trace = {
        ...head,
        at: new Float64Array(n),
        duration: new Float64Array(n),
        bytes: new Uint32Array(n),
        sender: new Uint16Array(n),
        receiver: new Uint16Array(n),
        mpdus: new Uint16Array(n),
        lost: new Uint16Array(n),
        kind: new Uint8Array(n),
        collided: new Uint8Array(n),
        rate: new Uint8Array(n),
        retries: new Uint8Array(n),
        longest: 0,
        largest: 1,
    };
    for (let i = 0, at = 4 + length; i < n; i++, at += ROW) {
        trace.at[i] = view.getFloat64(at, true);
        trace.duration[i] = view.getUint32(at + 8, true) / 1e9;
        trace.bytes[i] = view.getUint32(at + 12, true);
        trace.sender[i] = view.getUint16(at + 16, true);
        trace.receiver[i] = view.getUint16(at + 18, true);
        trace.mpdus[i] = view.getUint16(at + 20, true);
        trace.lost[i] = view.getUint16(at + 22, true);
        trace.kind[i] = view.getUint8(at + 24);
        trace.collided[i] = view.getUint8(at + 25);
        trace.rate[i] = view.getUint8(at + 26);
        trace.retries[i] = view.getUint8(at + 27);
        trace.longest = Math.max(trace.longest, trace.duration[i] ?? 0);
        trace.largest = Math.max(trace.largest, trace.mpdus[i] ?? 0);
    }
    return trace;
}

/** Position of the first PPDU that starts at `time` or later. */
export function firstFrom(trace: Trace, time: number): number {
    let [low, high] = [0, trace.at.length];
    while (low < high) {
        const middle = (low + high) >> 1;
        if ((trace.at[middle] ?? Infinity) < time) low = middle + 1;
        else high = middle;
    }
    return low;
}

/** A part of the time, in seconds. */
export interface View {
    from: number;
    to: number;
}

/** Shortest part that is shown: a slot of 9 µs fills a tenth of it. */
const CLOSEST = 90e-6;

/** `view` inside the trace, not closer than a slot can be seen. */
export function within(trace: Head, view: View): View {
    const whole = trace.to_s - trace.from_s;
    const span = Math.min(Math.max(view.to - view.from, CLOSEST), whole);
    const from = Math.min(Math.max(view.from, trace.from_s), trace.to_s - span);
    return { from, to: from + span };
}

/** `view` with `factor` times its length, `fixed` staying where it is. */
export function zoomed(trace: Head, view: View, factor: number, fixed: number): View {
    const span = Math.min(Math.max((view.to - view.from) * factor, CLOSEST), trace.to_s - trace.from_s);
    const share = (fixed - view.from) / (view.to - view.from);
    return within(trace, { from: fixed - share * span, to: fixed + (1 - share) * span });
}

/** The PPDU at a place of the chart; -1 without one. The latest one wins where several overlap. */
export function hit(trace: Trace, time: number, node: number, slack: number): number {
    let found = -1;
    for (let i = firstFrom(trace, time - trace.longest - slack); i < trace.at.length; i++) {
        const at = trace.at[i] ?? Infinity;
        if (at > time + slack) break;
        if (trace.sender[i] === node && time <= at + (trace.duration[i] ?? 0) + slack) found = i;
    }
    return found;
}

/** Steps of an axis: 1, 2 or 5 times a power of ten. */
export function step(span: number, most: number): number {
    const raw = span / most;
    const power = 10 ** Math.floor(Math.log10(raw));
    return [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= raw) ?? raw;
}

/** Share of the time of `view` in which each node sends data or TCP ACKs. */
export function shares(trace: Trace, view: View): Float64Array {
    const sums = new Float64Array(trace.nodes.length);
    for (let i = firstFrom(trace, view.from - trace.longest); i < trace.at.length; i++) {
        const at = trace.at[i] ?? Infinity;
        if (at >= view.to) break;
        if ((trace.mpdus[i] ?? 0) === 0) continue;
        const overlap = Math.min(at + (trace.duration[i] ?? 0), view.to) - Math.max(at, view.from);
        const node = trace.sender[i] ?? 0;
        if (overlap > 0) sums[node] = (sums[node] ?? 0) + overlap;
    }
    return sums.map((sum) => sum / (view.to - view.from));
}

export interface Colours {
    ink: string;
    faint: string;
    ground: string;
    band: string;
    answer: string;
    control: string;
    collision: string;
    /** From the slowest to the fastest rate. */
    rates: string[];
}

/** Colours of `count` rates out of a scale; those at `used` positions, ascending, are as far apart as can be. */
export function rateColours(scale: string[], count: number, used: number[]): string[] {
    const last = scale.length - 1;
    const colours = Array.from({ length: count }, () => scale[last] ?? "#888888");
    used.forEach((rate, index) => {
        const place = used.length === 1 ? 0 : Math.round((index / (used.length - 1)) * last);
        colours[rate] = scale[place] ?? "#888888";
    });
    return colours;
}

/** What is used of a canvas, so that something else can take a drawing down. */
export type Pen = Pick<
    CanvasRenderingContext2D,
    | "fillStyle"
    | "strokeStyle"
    | "lineWidth"
    | "font"
    | "textAlign"
    | "textBaseline"
    | "save"
    | "restore"
    | "translate"
    | "beginPath"
    | "moveTo"
    | "lineTo"
    | "stroke"
    | "setLineDash"
    | "fillRect"
    | "fillText"
> & {
    rect(x: number, y: number, width: number, height: number): void;
    clip(): void;
};

export const LANE = 26;
export const AXIS = 22;

/**
 * Draws `view` of the trace. Where PPDUs are narrower than a pixel, a column shows how much of its time each kind takes.
 */
export function draw(
    context: Pen,
    trace: Trace,
    view: View,
    width: number,
    left: number,
    colours: Colours,
): void {
    const nodes = trace.nodes.length;
    const height = nodes * LANE + AXIS;
    context.fillStyle = colours.ground;
    context.fillRect(0, 0, width, height);
    const span = view.to - view.from;
    const scale = (width - left) / span;
    context.fillStyle = colours.band;
    for (let node = 1; node < nodes; node += 2) context.fillRect(0, AXIS + node * LANE, width, LANE);
    axis(context, view, width, left, height, colours);
    const begin = firstFrom(trace, view.from - trace.longest);
    const end = firstFrom(trace, view.to);
    context.save();
    context.beginPath();
    context.rect(left, 0, width - left, height);
    context.clip();
    // About as many PPDUs as pixels: single ones cannot be told apart.
    if (end - begin > (width - left) * 1.5)
        columns(context, trace, view, begin, end, width - left, left, colours);
    else bars(context, trace, view, begin, end, scale, left, colours);
    context.restore();
}

function axis(context: Pen, view: View, width: number, left: number, height: number, colours: Colours): void {
    const span = view.to - view.from;
    const size = step(span, Math.max(2, (width - left) / 110));
    context.fillStyle = colours.faint;
    context.font = "11px ui-sans-serif, system-ui, sans-serif";
    context.textBaseline = "middle";
    context.textAlign = "center";
    const [unit, factor] = size >= 0.1 ? ["s", 1] : size >= 1e-4 ? ["ms", 1e3] : ["µs", 1e6];
    const digits = Math.max(0, -Math.floor(Math.log10(size * factor) + 1e-9));
    for (let tick = Math.ceil(view.from / size); tick * size <= view.to; tick++) {
        const x = left + ((tick * size - view.from) / span) * (width - left);
        context.fillRect(Math.round(x), AXIS - 4, 1, height);
        if (x > left + 30 && x < width - 30) {
            context.fillStyle = colours.ink;
            context.fillText(`${(tick * size * factor).toFixed(digits)} ${unit}`, x, AXIS / 2 - 1);
            context.fillStyle = colours.faint;
        }
    }
}

function colour(trace: Trace, i: number, colours: Colours): string {
    if (trace.collided[i]) return colours.collision;
    const kind = trace.kind[i] ?? 0;
    if (kind <= TCP_ACK) return colours.rates[trace.rate[i] ?? 0] ?? colours.ink;
    return kind === 4 ? colours.control : colours.answer;
}

function bars(
    context: Pen,
    trace: Trace,
    view: View,
    begin: number,
    end: number,
    scale: number,
    left: number,
    colours: Colours,
): void {
    const room = LANE - 6;
    const whole = Math.log2(1 + trace.largest);
    for (let i = begin; i < end; i++) {
        const x = left + ((trace.at[i] ?? 0) - view.from) * scale;
        const w = Math.max((trace.duration[i] ?? 0) * scale, 1);
        const base = AXIS + ((trace.sender[i] ?? 0) + 1) * LANE - 3;
        const mpdus = trace.mpdus[i] ?? 0;
        const h = mpdus === 0 ? room * 0.22 : room * (0.35 + (0.65 * Math.log2(1 + mpdus)) / whole);
        context.fillStyle = colour(trace, i, colours);
        context.fillRect(x, base - h, w, h);
        if (mpdus === 0 || w < 3) continue;
        if (trace.kind[i] === TCP_ACK && !trace.collided[i]) {
            // Without payload: hollow.
            context.fillStyle = colours.ground;
            context.fillRect(x + 1, base - h + 1, w - 2, h - 2);
        }
        const lost = trace.lost[i] ?? 0;
        if (lost > 0 && !trace.collided[i]) {
            context.fillStyle = colours.collision;
            context.fillRect(x, base - h, w, Math.max(1.5, (h * lost) / mpdus));
        }
        if ((trace.retries[i] ?? 0) > 0) {
            context.fillStyle = colours.ink;
            context.fillRect(x, base - h - 2, w, 1.5);
        }
        if (trace.collided[i] && w > 4) {
            // Not by colour alone.
            context.strokeStyle = colours.ground;
            context.lineWidth = 1;
            context.beginPath();
            context.moveTo(x, base);
            context.lineTo(x + w, base - h);
            context.moveTo(x, base - h);
            context.lineTo(x + w, base);
            context.stroke();
        }
    }
}

function columns(
    context: Pen,
    trace: Trace,
    view: View,
    begin: number,
    end: number,
    width: number,
    left: number,
    colours: Colours,
): void {
    const room = LANE - 4;
    const rates = trace.rates_bps.length;
    // By lane, column and kind: collisions, answers, then each rate.
    const kinds = rates + 2;
    const size = Math.ceil(width);
    const sums = new Float32Array(trace.nodes.length * size * kinds);
    const scale = size / (view.to - view.from);
    for (let i = begin; i < end; i++) {
        const kind = trace.collided[i] ? 0 : (trace.kind[i] ?? 0) > TCP_ACK ? 1 : 2 + (trace.rate[i] ?? 0);
        const from = ((trace.at[i] ?? 0) - view.from) * scale;
        const to = from + (trace.duration[i] ?? 0) * scale;
        const lane = (trace.sender[i] ?? 0) * size;
        for (let x = Math.max(0, Math.floor(from)); x < Math.min(size, to); x++) {
            const at = (lane + x) * kinds + kind;
            sums[at] = (sums[at] ?? 0) + Math.min(to, x + 1) - Math.max(from, x);
        }
    }
    // One colour after another, since changing it is what costs.
    const fills = [colours.collision, colours.answer, ...colours.rates];
    const order = [...Array(rates).keys()].map((rate) => rate + 2).concat(1, 0);
    const tops = new Float32Array(trace.nodes.length * size);
    for (const kind of order) {
        context.fillStyle = fills[kind] ?? colours.ink;
        for (let cell = 0; cell < tops.length; cell++) {
            const share = sums[cell * kinds + kind] ?? 0;
            if (share === 0) continue;
            const h = Math.min(share * room, room - (tops[cell] ?? 0));
            const lane = Math.floor(cell / size);
            context.fillRect(
                left + (cell % size),
                AXIS + (lane + 1) * LANE - 2 - (tops[cell] ?? 0) - h,
                1,
                h,
            );
            tops[cell] = (tops[cell] ?? 0) + h;
        }
    }
}

/** What is known of a PPDU, in words. */
export function words(trace: Trace, i: number): string {
    const kind = trace.kind[i] ?? 0;
    const name = (node: number | undefined) => trace.nodes[node ?? 0] ?? "?";
    const parts = [`${name(trace.sender[i])} → ${name(trace.receiver[i])}`, KINDS[kind] ?? ""];
    const mpdus = trace.mpdus[i] ?? 0;
    if (kind === DATA || kind === TCP_ACK) {
        parts.push(`${mpdus} MPDU${mpdus === 1 ? "" : "s"}, ${trace.bytes[i]} B`);
        parts.push(`${((trace.rates_bps[trace.rate[i] ?? 0] ?? 0) / 1e6).toFixed(1)} Mbit/s`);
    }
    parts.push(`${((trace.duration[i] ?? 0) * 1e6).toFixed(0)} µs`);
    if (trace.retries[i]) parts.push(`${trace.retries[i]} sent again`);
    if (trace.collided[i]) parts.push("collided");
    else if (trace.lost[i]) parts.push(`${trace.lost[i]} lost on the air`);
    return parts.join(" · ");
}
