// The AP's queue by flow and the congestion windows: what stands under the air.

import { step, type Colours, type Pen, type Trace, type View } from "./air";

/** Height of each of the two charts, and the room for drops above the queue. */
const CHART = 84;
const DROPS = 10;
/** Height of all of it. */
export const WAITING = DROPS + 2 * CHART + 14;
/** Flows that are named on hover. */
const NAMED = 6;

export const flowName = (trace: Trace, flow: number): string => {
    const own = trace.flows[flow];
    return own ? `${trace.nodes[own.node] ?? "?"} ${own.direction} (flow ${flow})` : `flow ${flow}`;
};

/** Colour of a flow: uploads warm, downloads cold, as in the bars above; neighbours differ. */
export function flowColour(trace: Trace, flow: number, isDark: boolean): string {
    const isUp = trace.flows[flow]?.direction === "up";
    const light = (isDark ? 52 : 40) + (flow % 4) * 9;
    return isUp ? `hsl(26 100% ${light}%)` : `hsl(202 90% ${light}%)`;
}

const x = (view: View, width: number, at: number) => ((at - view.from) / (view.to - view.from)) * width;

function frame(context: Pen, top: number, width: number, most: number, title: string, colours: Colours) {
    context.font = "11px ui-sans-serif, system-ui, sans-serif";
    context.textAlign = "left";
    context.textBaseline = "top";
    const size = Math.max(1, step(most, 3));
    for (let tick = size; tick <= most; tick += size) {
        const y = top + CHART - (tick / most) * CHART;
        context.fillStyle = colours.faint;
        context.fillRect(0, y, width, 1);
        context.fillStyle = colours.ink;
        context.fillText(String(tick), 3, y + 1);
    }
    context.fillStyle = colours.faint;
    context.fillRect(0, top + CHART, width, 1);
    context.textAlign = "right";
    context.fillStyle = colours.ink;
    context.fillText(title, width - 4, top + 2);
}

/** The samples that are seen, with a neighbour on either side. */
function seen(at: number[], view: View): [number, number] {
    const from = at.findIndex((one) => one >= view.from);
    const to = at.findIndex((one) => one > view.to);
    return [Math.max(0, (from < 0 ? at.length : from) - 1), to < 0 ? at.length : to + 1];
}

/** Draws `view` of queue and windows below each other. */
export function drawWaiting(
    context: Pen,
    trace: Trace,
    view: View,
    width: number,
    isDark: boolean,
    colours: Colours,
): void {
    const { at_s, packets, cwnd, drops } = trace.queue;
    context.fillStyle = colours.ground;
    context.fillRect(0, 0, width, WAITING);
    const [from, to] = seen(at_s, view);
    const sums = new Float64Array(at_s.length);
    for (const column of packets) column.forEach((one, i) => (sums[i] = (sums[i] ?? 0) + one));
    const mostWait = Math.max(1, ...sums) * 1.1;
    const base = new Float64Array(at_s.length);
    packets.forEach((column, flow) => {
        context.fillStyle = flowColour(trace, flow, isDark);
        // Steps: a sample holds until the next one.
        for (let i = from; i < Math.min(to, at_s.length); i++) {
            const own = column[i] ?? 0;
            if (own === 0) continue;
            const left = x(view, width, at_s[i] ?? 0);
            const right = x(view, width, at_s[i + 1] ?? trace.to_s);
            const low = base[i] ?? 0;
            const y = DROPS + CHART - ((low + own) / mostWait) * CHART;
            context.fillRect(left, y, Math.max(1, right - left + 0.3), (own / mostWait) * CHART);
            base[i] = low + own;
        }
    });
    context.fillStyle = colours.collision;
    for (const drop of drops)
        if (drop.at_s >= view.from && drop.at_s <= view.to)
            context.fillRect(x(view, width, drop.at_s) - 0.75, 0, 1.5, DROPS - 2);
    frame(context, DROPS, width, mostWait, "AP queue, packets by flow", colours);

    const top = DROPS + CHART + 10;
    const mostWindow = cwnd.flat().reduce((most, one) => Math.max(most, one), 1) * 1.1;
    context.lineWidth = 1.3;
    cwnd.forEach((column, flow) => {
        context.strokeStyle = flowColour(trace, flow, isDark);
        context.setLineDash(flow % 8 >= 4 ? [5, 3] : []);
        context.beginPath();
        for (let i = from; i < Math.min(to, column.length); i++)
            context.lineTo(
                x(view, width, at_s[i] ?? 0),
                top + CHART - ((column[i] ?? 0) / mostWindow) * CHART,
            );
        context.stroke();
    });
    context.setLineDash([]);
    frame(context, top, width, mostWindow, "congestion windows, segments", colours);
}

/** A moment of a run, to the tenth of a millisecond. */
const moment = (seconds: number) => `${seconds.toFixed(4)} s`;

/**
 * What is known of a moment, in words; a drop within `slack` seconds first. Queue and windows are those of the last sample, whose
 * time is said: in a long trace samples are far apart.
 */
export function momentWords(trace: Trace, at: number, slack: number): string {
    const { at_s, packets, cwnd, drops } = trace.queue;
    let near: (typeof drops)[number] | undefined;
    for (const drop of drops)
        if (
            Math.abs(drop.at_s - at) <= slack &&
            !(near && Math.abs(near.at_s - at) <= Math.abs(drop.at_s - at))
        )
            near = drop;
    const dropped = near
        ? `${moment(near.at_s)}: dropped a ${near.what} of ${flowName(trace, near.flow)}: ${near.why}. `
        : "";
    let sample = at_s.findIndex((one) => one > at) - 1;
    if (sample < 0) sample = at_s.length - 1;
    if (sample < 0) return `${dropped}No sample.`;
    const waits = packets
        .map((column, flow) => ({ flow, packets: column[sample] ?? 0, cwnd: cwnd[flow]?.[sample] }))
        .toSorted((a, b) => b.packets - a.packets);
    const all = waits.reduce((sum, one) => sum + one.packets, 0);
    const parts = waits
        .filter((one, index) => index < NAMED && (one.packets > 0 || index === 0))
        .map(
            (one) =>
                `${flowName(trace, one.flow)} ${one.packets}` +
                (one.cwnd === undefined ? "" : `, window ${one.cwnd.toFixed(1)}`),
        );
    return `${dropped}Sample of ${moment(at_s[sample] ?? at)}: ${all} packets wait. ${parts.join("; ")}`;
}
