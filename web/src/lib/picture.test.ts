import { describe, expect, it } from "vitest";
import type { Trace } from "./air";
import { SvgPen, drawPicture, halves, left, size, type Shown } from "./picture";

/** A frame of an upload by a station with a name that is markup, and a queue with a drop. */
const trace: Trace = {
    from_s: 0,
    to_s: 1,
    is_cut: false,
    nodes: ["AP", "<b>&\"'"],
    rates_bps: [6e6],
    rows: 1,
    flows: [{ node: 1, direction: "up" }],
    queue: {
        at_s: [0, 0.5],
        packets: [[1, 3]],
        cwnd: [[2, 4]],
        drops: [{ at_s: 0.75, flow: 0, what: "TCP ACK", why: "the queue was full" }],
        dropped: 1,
    },
    at: Float64Array.of(0.25),
    duration: Float64Array.of(0.25),
    bytes: Uint32Array.of(1500),
    sender: Uint16Array.of(1),
    receiver: Uint16Array.of(0),
    mpdus: Uint16Array.of(1),
    lost: Uint16Array.of(0),
    kind: Uint8Array.of(0),
    collided: Uint8Array.of(0),
    rate: Uint8Array.of(0),
    retries: Uint8Array.of(0),
    longest: 0.25,
    largest: 1,
};
const shown: Shown = {
    title: "cell",
    trace,
    view: { from: 0, to: 1 },
    width: 400,
    isDark: false,
    colours: {
        ink: "#000001",
        faint: "#000002",
        ground: "#ffffff",
        band: "#fffff0",
        answer: "#000003",
        control: "#000004",
        collision: "#ff0000",
        rates: ["#00ff00"],
    },
    rates: [0],
};

describe("the picture of the air", () => {
    const pen = new SvgPen();
    drawPicture(pen, shown);
    const [width, height] = size(shown);
    const svg = pen.svg(width, height);

    it("has the frames, and the queue below them", () => {
        // A quarter of 400 pixels, a quarter from the left of the chart.
        expect(svg).toMatch(/<rect x="232" y="\d+" width="100" height="20" fill="#00ff00"\/>/);
        expect(svg).toContain("AP queue, packets by flow");
        expect(svg).toContain("congestion windows, segments");
        // The drop, three quarters to the right of the charts that begin at 132.
        expect(svg).toMatch(
            /translate\(132 \d+\).*<rect x="299.25" y="0" width="1.5" height="8" fill="#ff0000"\/>/,
        );
        expect(svg).toContain("1 dropped");
    });
    it("closes what it opens, and names stay text", () => {
        expect(svg.split("<g ").length).toBe(svg.split("</g>").length);
        expect(svg).not.toContain("<b>");
        expect(svg).toContain("&#60;b&#62;&#38;&#34;&#39;");
    });
    it("grows with the legend where it is narrow", () => {
        expect(size({ ...shown, width: 200 })[1]).toBeGreaterThan(height);
    });
    it("has room for names, and keeps the end of those that are too long", () => {
        expect(left(["AP", "station-2-5"])).toBe(132);
        expect(left(["AP", "conference-room-4"])).toBeGreaterThan(150);
        const long = `visitor-in-the-great-hall-of-the-old-castle-${"17"}`;
        expect(left([long])).toBe(240);
        expect(halves(long).join("")).toBe(long);
        const other = new SvgPen();
        drawPicture(other, { ...shown, trace: { ...trace, nodes: ["AP", long] } });
        const named = /visitor-in-the-[^<]*/.exec(other.svg(640, 480))?.[0] ?? "";
        expect(named).toMatch(/….*-17$/);
        expect(named.length).toBeLessThanOrEqual((240 - 52) / 6.2);
    });
});
