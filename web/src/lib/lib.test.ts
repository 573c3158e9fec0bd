import { describe, expect, it } from "vitest";
import { firstFrom, hit, parse, shares, step, within, words, zoomed } from "./air";
import { momentWords } from "./waiting";
import { EventReader, type Answer } from "./api";
import { steps } from "./box";
import { answerSvg, csvCell } from "./export";
import { mbps, percent, spread, time, times } from "./format";
import { fromFragment, toFragment } from "./share";
import { at, flow, whole } from "./tables";

describe("numbers", () => {
    it("have three digits and a unit that fits", () => {
        expect(mbps(4_912_345)).toBe("4.91");
        expect(mbps(112_300_000)).toBe("112");
        expect(mbps(null)).toBe("–");
        expect(percent(0.241)).toBe("24");
        expect(percent(0.021)).toBe("2.1");
        expect(times(16.7)).toBe("17×");
        expect(times(0.5)).toBe("0.50×");
        expect(time(0.000_009)).toBe("9.00 µs");
        expect(time(0.25)).toBe("250 ms");
        expect(spread({ mean: 4.9e6, ci95: 51_000, n: 3 }, 1e-6)).toBe("± 0.05");
        expect(spread({ mean: 1, ci95: null, n: 1 }, 1)).toBe("");
    });
});

describe("links", () => {
    const toml = 'name = "Ünïcode ☕"\n' + "# comment\n".repeat(500);
    it("hold the whole scenario, in letters that stay as they are", async () => {
        const fragment = await toFragment(toml);
        expect(fragment).toMatch(/^#s=[\w-]+$/);
        expect(fragment.length).toBeLessThan(200);
        expect(await fromFragment(fragment)).toBe(toml);
    });
    it("without a scenario are none, and broken ones are errors", async () => {
        expect(await fromFragment("")).toBeNull();
        expect(await fromFragment("#other")).toBeNull();
        await expect(fromFragment("#s=****")).rejects.toThrow();
        await expect(fromFragment("#s=AAAA")).rejects.toThrow();
    });
    it("do not unfold to what fills the memory", async () => {
        const bomb = await toFragment("x".repeat(4_000_000));
        await expect(fromFragment(bomb)).rejects.toThrow();
    });
});

describe("server-sent events", () => {
    it("are put together however they are cut", () => {
        const text = 'event: answer\ndata: {"a":1}\n\n:\n\nevent: done\ndata: {}\n\n';
        for (const size of [1, 7, 1000]) {
            const reader = new EventReader();
            const events = [];
            for (let at = 0; at < text.length; at += size)
                events.push(...reader.feed(text.slice(at, at + size)));
            expect(events).toEqual([
                { event: "answer", data: '{"a":1}' },
                { event: "done", data: "{}" },
            ]);
        }
    });
});

/** A trace of frames `[at, duration, sender, receiver, mpdus]`, as the server sends it. */
function trace(frames: number[][]) {
    const head = {
        from_s: 0,
        to_s: 1,
        is_cut: false,
        nodes: ["AP", "a"],
        rates_bps: [6e6],
        rows: frames.length,
    };
    let json = JSON.stringify(head);
    while ((json.length + 4) % 8) json += " ";
    const view = new DataView(new ArrayBuffer(4 + json.length + 28 * frames.length));
    view.setUint32(0, json.length, true);
    new Uint8Array(view.buffer, 4).set(new TextEncoder().encode(json));
    frames.forEach(([at = 0, duration = 0, sender = 0, receiver = 0, mpdus = 0], index) => {
        const base = 4 + json.length + 28 * index;
        view.setFloat64(base, at, true);
        view.setUint32(base + 8, duration * 1e9, true);
        view.setUint32(base + 12, mpdus * 1500, true);
        view.setUint16(base + 16, sender, true);
        view.setUint16(base + 18, receiver, true);
        view.setUint16(base + 20, mpdus, true);
        view.setUint8(base + 24, mpdus ? 0 : 2);
    });
    return parse(view.buffer);
}

describe("the air", () => {
    const three = trace([
        [0.1, 0.1, 1, 0, 4],
        [0.21, 0.01, 0, 1, 0],
        [0.5, 0.25, 0, 1, 1],
    ]);
    it("is read back", () => {
        expect([...three.at]).toEqual([0.1, 0.21, 0.5]);
        expect(three.largest).toBe(4);
        expect(words(three, 0)).toBe("a → AP · data · 4 MPDUs, 6000 B · 6.0 Mbit/s · 100000 µs");
    });
    it("is found by time and lane", () => {
        expect(firstFrom(three, 0.2)).toBe(1);
        expect(hit(three, 0.15, 1, 0)).toBe(0);
        expect(hit(three, 0.15, 0, 0)).toBe(-1);
        expect(hit(three, 0.74, 0, 0)).toBe(2);
    });
    it("says when the queue was sampled, not when a packet was dropped", () => {
        const queue = {
            at_s: [0, 0.5],
            packets: [[0, 95]],
            cwnd: [[]],
            drops: [{ at_s: 0.4321, flow: 0, what: "TCP ACK", why: "the queue was full" }],
            dropped: 1,
        };
        const flows = [{ node: 1, direction: "up" as const }];
        expect(momentWords({ ...three, flows, queue }, 0.4322, 0.001)).toMatch(
            /^0\.4321 s: dropped a TCP ACK .*the queue was full\. Sample of 0\.0000 s: 0 packets wait\./,
        );
    });
    it("is shared by those who send data", () => {
        expect([...shares(three, { from: 0, to: 1 })].map((share) => share.toFixed(3))).toEqual([
            "0.250",
            "0.100",
        ]);
        expect([...shares(three, { from: 0.15, to: 0.25 })].map((share) => share.toFixed(3))).toEqual([
            "0.000",
            "0.500",
        ]);
    });
    it("is zoomed no closer than a slot and never left", () => {
        expect(within(three, { from: -3, to: -2 })).toEqual({ from: 0, to: 1 });
        const close = zoomed(three, { from: 0, to: 1 }, 1e-9, 0.5);
        expect(close.to - close.from).toBeCloseTo(90e-6);
        expect(close.from).toBeLessThan(0.5);
        expect(step(1, 8)).toBeCloseTo(0.2);
    });
});

describe("a station's past", () => {
    it("is drawn as steps as high as its rates", () => {
        expect(steps([0, 50, 100], 30, 10, 100)).toBe("M0 10V10.0H10.0V5.0H20.0V0.0H30.0V10Z");
        expect(steps([0, 0], 30, 10, 0)).toBe("M0 10V10.0H15.0V10.0H30.0V10Z");
    });
});

describe("files", () => {
    it("do not let a name become a formula or markup", () => {
        expect(csvCell("=1+1")).toBe("'=1+1");
        expect(csvCell('a,"b')).toBe('"a,""b"');
        const none = { mean: null, ci95: null, n: 0 };
        const station = {
            name: "<script>&",
            goodput_up_bps: none,
            goodput_down_bps: none,
            goodput_bps: none,
            goodput_share: none,
            airtime_share: none,
        };
        const svg = answerSvg({ stations: [station] } as unknown as Answer, "<b>");
        expect(svg).not.toContain("<script");
        expect(svg).not.toContain("<b>");
    });
});

describe("cards", () => {
    it("take what is written and refuse what is no whole number", () => {
        expect(at({ ap: { queue: { limit: 5 } } }, "ap", "queue", "limit")).toBe(5);
        expect(at({ ap: 3 }, "ap", "queue")).toBeUndefined();
        expect(flow({ direction: "up" })).toEqual({ direction: "up", kind: "tcp", count: 1 });
        expect(whole("3", 1, 9)).toBe(3);
        for (const wrong of ["", "0", "1.5", "x", "10"]) expect(whole(wrong, 1, 9)).toBeNull();
    });
});
