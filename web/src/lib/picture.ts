// The air and what waits below it as one picture, on a canvas or as SVG.

import { AXIS, LANE, draw, shares, type Colours, type Pen, type Trace, type View } from "./air";
import { xml } from "./export";
import { percent, time } from "./format";
import { WAITING, drawWaiting } from "./waiting";

/** Room for the title and for a line of the legend. */
const [TITLE, LINE] = [30, 20];
/** About what a letter of 11 px takes. */
const LETTER = 6.2;
/** What stands beside a name: margins and its share. */
const BESIDE = 52;
/** Least and most room for names on the left. */
const [LEAST, MOST] = [132, 240];

/** Room on the left for the names of `nodes` with their shares. */
export function left(nodes: string[]): number {
    const longest = Math.max(0, ...nodes.map((node) => node.length));
    return Math.min(MOST, Math.max(LEAST, Math.ceil(longest * LETTER) + BESIDE));
}

/** A name in two parts: the end, by which names differ, and what may be cut before it. */
export const halves = (name: string): [string, string] => {
    const letters = Array.from(name);
    const end = letters.length > 8 ? letters.splice(-6) : [];
    return [letters.join(""), end.join("")];
};

/** `name` in the room that it has: where it is too long the middle is left out. */
function fitting(name: string, room: number): string {
    const most = Math.floor((room - BESIDE) / LETTER);
    if (name.length <= most) return name;
    const [begin, end] = halves(name);
    return `${Array.from(begin)
        .slice(0, most - 7)
        .join("")}…${end}`;
}

export interface Shown {
    title: string;
    trace: Trace;
    view: View;
    /** Width of the charts. */
    width: number;
    isDark: boolean;
    colours: Colours;
    /** Positions of the rates that data are sent at. */
    rates: number[];
}

interface Mark {
    colour: string;
    text: string;
    at: [number, number];
}

/** The legend: marks in lines that fit. */
function legend({ trace, width, colours, rates }: Shown): Mark[] {
    const whole = left(trace.nodes) + width;
    const marks = [
        ...rates.map((rate) => [
            colours.rates[rate] ?? colours.ink,
            `${((trace.rates_bps[rate] ?? 0) / 1e6).toFixed(1)} Mbit/s`,
        ]),
        [colours.answer, "ACK, BlockAck"],
        [colours.collision, "collided, lost or dropped"],
        ["hsl(26 100% 45%)", "uploads that wait"],
        ["hsl(202 90% 45%)", "downloads that wait"],
    ];
    let [x, line] = [0, 0];
    return marks.map(([colour = "", text = ""]) => {
        const room = text.length * LETTER + 32;
        if (x > 0 && x + room > whole - 16) [x, line] = [0, line + 1];
        x += room;
        return { colour, text, at: [8 + x - room, line * LINE] };
    });
}

/** Width and height of the picture. */
export function size(shown: Shown): [number, number] {
    const lines = (legend(shown).at(-1)?.at[1] ?? 0) + LINE;
    return [
        left(shown.trace.nodes) + shown.width,
        TITLE + AXIS + shown.trace.nodes.length * LANE + 6 + WAITING + 10 + lines,
    ];
}

export function drawPicture(pen: Pen, shown: Shown): void {
    const { title, trace, view, width, isDark, colours } = shown;
    const [whole, height] = size(shown);
    const room = left(trace.nodes);
    const text = (words: string, x: number, y: number, align: CanvasTextAlign, font = "11px") => {
        pen.fillStyle = colours.ink;
        pen.font = `${font} ui-sans-serif, system-ui, sans-serif`;
        pen.textAlign = align;
        pen.textBaseline = "middle";
        pen.fillText(words, x, y);
    };
    pen.fillStyle = colours.ground;
    pen.fillRect(0, 0, whole, height);
    text(title, 8, TITLE / 2, "left", "600 13px");
    text(`${time(view.to - view.from)} of the air`, whole - 8, TITLE / 2, "right");

    pen.save();
    pen.translate(0, TITLE);
    draw(pen, trace, view, whole, room, colours);
    const part = shares(trace, view);
    trace.nodes.forEach((node, index) => {
        const y = AXIS + (index + 0.5) * LANE;
        text(fitting(node, room), 8, y, "left");
        text(`${percent(part[index] ?? 0)} %`, room - 8, y, "right");
    });
    pen.restore();

    const below = TITLE + AXIS + trace.nodes.length * LANE + 6;
    text(`${trace.queue.dropped} dropped`, 8, below + 12, "left");
    pen.save();
    pen.translate(room, below);
    pen.beginPath();
    pen.rect(0, 0, width, WAITING);
    pen.clip();
    drawWaiting(pen, trace, view, width, isDark, colours);
    pen.restore();

    for (const { colour, text: words, at } of legend(shown)) {
        const y = below + WAITING + 10 + at[1];
        pen.fillStyle = colour;
        pen.fillRect(at[0], y, 11, 11);
        text(words, at[0] + 16, y + 6, "left");
    }
}

const short = (value: number) => String(Math.round(value * 100) / 100);

/** Takes what is drawn down as SVG. */
export class SvgPen implements Pen {
    fillStyle: Pen["fillStyle"] = "#000";
    strokeStyle: Pen["strokeStyle"] = "#000";
    lineWidth = 1;
    font = "11px sans-serif";
    textAlign: CanvasTextAlign = "left";
    textBaseline: CanvasTextBaseline = "alphabetic";

    private parts: string[] = [];
    private path = "";
    private dash: number[] = [];
    /** Groups to close, for each `save`. */
    private open: number[] = [0];
    private clips = 0;

    private group(attribute: string) {
        this.parts.push(`<g ${attribute}>`);
        this.open.push((this.open.pop() ?? 0) + 1);
    }
    save() {
        this.open.push(0);
    }
    restore() {
        this.parts.push("</g>".repeat(this.open.pop() ?? 0));
    }
    translate(x: number, y: number) {
        this.group(`transform="translate(${short(x)} ${short(y)})"`);
    }
    beginPath() {
        this.path = "";
    }
    moveTo(x: number, y: number) {
        this.path += `M${short(x)} ${short(y)}`;
    }
    lineTo(x: number, y: number) {
        this.path += `${this.path ? "L" : "M"}${short(x)} ${short(y)}`;
    }
    rect(x: number, y: number, width: number, height: number) {
        this.path += `M${short(x)} ${short(y)}h${short(width)}v${short(height)}h${short(-width)}Z`;
    }
    clip() {
        this.clips += 1;
        this.parts.push(`<clipPath id="clip${this.clips}"><path d="${this.path}"/></clipPath>`);
        this.group(`clip-path="url(#clip${this.clips})"`);
    }
    stroke() {
        const dash = this.dash.length > 0 ? ` stroke-dasharray="${this.dash.join(" ")}"` : "";
        this.parts.push(
            `<path d="${this.path}" fill="none" stroke="${xml(String(this.strokeStyle))}" stroke-width="${this.lineWidth}"${dash}/>`,
        );
    }
    setLineDash(dash: number[]) {
        this.dash = dash;
    }
    fillRect(x: number, y: number, width: number, height: number) {
        const place = `x="${short(x)}" y="${short(y)}" width="${short(width)}" height="${short(height)}"`;
        this.parts.push(`<rect ${place} fill="${xml(String(this.fillStyle))}"/>`);
    }
    fillText(text: string, x: number, y: number) {
        const anchor = { left: "start", center: "middle", right: "end", start: "start", end: "end" };
        const low = { top: 0.8, middle: 0.35 } as Partial<Record<CanvasTextBaseline, number>>;
        const [weight, px] = /^(?:(\d+) )?([\d.]+)px/.exec(this.font)?.slice(1) ?? [];
        const bold = weight ? ` font-weight="${weight}"` : "";
        const down = y + (low[this.textBaseline] ?? 0) * Number(px ?? 11);
        this.parts.push(
            `<text x="${short(x)}" y="${short(down)}" text-anchor="${anchor[this.textAlign]}" font-size="${px ?? 11}"${bold} fill="${xml(String(this.fillStyle))}">${xml(text)}</text>`,
        );
    }
    /** The picture of what was drawn. */
    svg(width: number, height: number): string {
        return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" font-family="sans-serif">${this.parts.join("")}</svg>\n`;
    }
}
