// Numbers for people: three digits, a unit, and half-widths with no digit too many.

import type { Estimate } from "./api";

export const NONE = "–";

/** Decimals that give `value` three digits. */
export function decimals(value: number): number {
    const size = Math.abs(value);
    if (size >= 99.95 || size === 0) return 0;
    if (size >= 9.995) return 1;
    return size >= 0.9995 ? 2 : 3;
}

/** A number with three digits. */
export function number(value: number | null): string {
    return value === null ? NONE : value.toFixed(decimals(value));
}

/** A rate in Mbit/s, without its unit. */
export function mbps(bps: number | null): string {
    return bps === null ? NONE : number(bps / 1e6);
}

/** A share in per cent, without its sign. */
export function percent(share: number | null): string {
    if (share === null) return NONE;
    const value = share * 100;
    return value.toFixed(Math.abs(value) < 9.95 ? 1 : 0);
}

/** A delay in ms, without its unit. */
export function ms(seconds: number | null): string {
    return seconds === null ? NONE : number(seconds * 1e3);
}

/** Half-width of an estimate times `scale`, with its sign; empty when it is not known. */
export function spread(estimate: Estimate, scale: number): string {
    if (estimate.ci95 === null || estimate.mean === null) return "";
    const value = estimate.ci95 * scale;
    return `± ${value.toFixed(Math.min(decimals(estimate.mean * scale), value >= 9.95 ? 0 : 2))}`;
}

/** A length of time with the unit that fits. */
export function time(seconds: number): string {
    const size = Math.abs(seconds);
    if (size === 0 || size >= 0.9995) return `${number(seconds)} s`;
    return size >= 0.9995e-3 ? `${number(seconds * 1e3)} ms` : `${number(seconds * 1e6)} µs`;
}

/** A ratio above or below 1 as a multiple: what is larger, and how many times. */
export function times(ratio: number | null): string {
    return ratio === null ? NONE : `${ratio.toFixed(ratio >= 9.95 ? 0 : ratio >= 0.095 ? 2 : 3)}×`;
}
