// Edits as the controls of the page make them.

import type { Edit, Json } from "./api";
import type { Lab } from "./lab.svelte";
import { whole } from "./tables";

export type Path = (string | number)[];

export const set = (path: Path, value: Json): Edit => ({ do: "set", path, value });

/** A rate as the scenario writes it. */
export const rateName = (mbps: number): string => `${mbps} Mbit/s`;

/** A quantity with its unit; empty: the default. */
export function setText(lab: Lab, path: Path, value: string): void {
    void lab.edit([set(path, value.trim() === "" ? null : value.trim())]);
}

/** A choice of a whole number; empty: the default. */
export function setChoice(lab: Lab, path: Path, value: string): void {
    void lab.edit([set(path, value === "" ? null : Number(value))]);
}

/** A whole number; one outside the limits is not taken. */
export function setNumber(lab: Lab, path: Path, input: HTMLInputElement, least: number, most: number): void {
    const value = whole(input.value, least, most);
    if (value === null) input.reportValidity();
    else void lab.edit([set(path, value)]);
}
