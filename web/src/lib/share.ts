// A scenario in a link: deflated, in the fragment, which browsers send to no server.

const KEY = "s=";
/** Letters of a scenario that a link may unfold to. */
const MOST = 512 * 1024;

async function through(
    bytes: Uint8Array<ArrayBuffer>,
    pair: TransformStream<BufferSource, Uint8Array>,
): Promise<Uint8Array> {
    const reader = new Blob([bytes]).stream().pipeThrough(pair).getReader();
    const parts: Uint8Array[] = [];
    let size = 0;
    for (;;) {
        const { done, value } = await reader.read();
        if (done) break;
        size += value.length;
        if (size > MOST) {
            await reader.cancel();
            throw new Error("too large");
        }
        parts.push(value);
    }
    const all = new Uint8Array(size);
    let at = 0;
    for (const part of parts) {
        all.set(part, at);
        at += part.length;
    }
    return all;
}

/** The fragment of a link to `toml`. */
export async function toFragment(toml: string): Promise<string> {
    const bytes = await through(
        new TextEncoder().encode(toml),
        new CompressionStream("deflate-raw") as never,
    );
    let text = "";
    for (const byte of bytes) text += String.fromCharCode(byte);
    return `#${KEY}${btoa(text).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "")}`;
}

/** The scenario of a fragment; null without one, an error when the link is broken. */
export async function fromFragment(fragment: string): Promise<string | null> {
    if (!fragment.startsWith(`#${KEY}`)) return null;
    const text = atob(
        fragment
            .slice(1 + KEY.length)
            .replaceAll("-", "+")
            .replaceAll("_", "/"),
    );
    const bytes = Uint8Array.from(text, (letter) => letter.charCodeAt(0));
    const whole = await through(bytes, new DecompressionStream("deflate-raw") as never);
    return new TextDecoder("utf-8", { fatal: true }).decode(whole);
}
