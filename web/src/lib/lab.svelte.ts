// The state of the page: one document, what was answered about it, and what is under way.

import * as api from "./api";
import type { Answer, Document, Edit, Progress, Refusal } from "./api";

/** Pause in typing after which the text is read, in ms. */
const TYPED = 40;
/** Pause after which a cell is simulated, in ms. */
const SETTLED = 200;
/** Steps that can be undone. */
const STEPS = 200;

export class Lab {
    document = $state.raw<Document | null>(null);
    /** What stands in the editor: ahead of the document while it is read. */
    text = $state("");
    name = $state("");
    /** The simulation's answer on the document. */
    simulated = $state.raw<Answer | null>(null);
    /** The document that it answers. */
    simulatedToml = "";
    /** Whether that answer is of an earlier text. */
    isStale = $state(false);
    progress = $state.raw<Progress | null>(null);
    isRunning = $state(false);
    isPrecise = $state(false);
    trouble = $state.raw<Refusal | null>(null);
    /** Goes up with every text that was simulated: what was made of an earlier one is out of date. */
    version = $state(0);
    /** How long the last answers took, in ms; `of` is the simulation that `first` is of. */
    took = $state.raw<{ model: number | null; first: number | null; of: number }>({
        model: null,
        first: null,
        of: 0,
    });

    private past = $state.raw<string[]>([]);
    private future = $state.raw<string[]>([]);
    private edits = Promise.resolve();
    private asked = 0;
    private reading: ReturnType<typeof setTimeout> | undefined;
    private settling: ReturnType<typeof setTimeout> | undefined;
    private run: AbortController | null = null;

    canUndo = $derived(this.past.length > 0);
    canRedo = $derived(this.future.length > 0);
    error = $derived(this.document?.error ?? null);

    /** Another scenario takes the place of this one; it can be undone. */
    async open(name: string, toml: string): Promise<void> {
        this.remember();
        this.name = name;
        await this.load(toml);
    }

    /** The text was changed in the editor. */
    typed(text: string): void {
        if (text === this.text) return;
        if (this.reading === undefined) this.remember();
        this.text = text;
        clearTimeout(this.reading);
        this.reading = setTimeout(() => {
            this.reading = undefined;
            void this.load(text);
        }, TYPED);
    }

    /** The cards change the document: one change after another, each on what the one before has left. */
    edit(edits: Edit[]): Promise<void> {
        this.edits = this.edits.then(() => this.editNow(edits));
        return this.edits;
    }

    private async editNow(edits: Edit[]): Promise<void> {
        const before = this.text;
        const ticket = ++this.asked;
        try {
            const document = await api.edit(before, edits);
            if (ticket !== this.asked) return;
            this.remember(before);
            this.take(document);
        } catch (error) {
            this.fail(error);
        }
    }

    undo(): void {
        this.step("past", "future");
    }

    redo(): void {
        this.step("future", "past");
    }

    private step(from: "past" | "future", to: "past" | "future"): void {
        const text = this[from].at(-1);
        if (text === undefined) return;
        this[from] = this[from].slice(0, -1);
        this[to] = [...this[to], this.text];
        void this.load(text);
    }

    /** Stops the simulation; what it has answered stays. */
    stop(): void {
        this.run?.abort();
        clearTimeout(this.settling);
        this.isRunning = false;
    }

    private remember(text = this.text): void {
        if (text === "" || this.past.at(-1) === text) return;
        this.past = [...this.past.slice(-STEPS), text];
        this.future = [];
    }

    private async load(text: string): Promise<void> {
        this.text = text;
        const ticket = ++this.asked;
        const began = performance.now();
        try {
            const document = await api.read(text);
            if (ticket !== this.asked) return;
            this.took = { ...this.took, model: performance.now() - began };
            this.take(document);
        } catch (error) {
            this.fail(error);
        }
    }

    private take(document: Document): void {
        this.text = document.toml;
        this.document = document;
        this.trouble = null;
        this.stop();
        this.isStale = true;
        if (document.error) return;
        this.settling = setTimeout(() => void this.simulate(document.toml), SETTLED);
    }

    private async simulate(toml: string): Promise<void> {
        const run = new AbortController();
        this.run = run;
        this.isRunning = true;
        this.isPrecise = false;
        this.progress = null;
        const of = (this.version += 1);
        const began = performance.now();
        let first = true;
        try {
            await api.job("/api/run", { toml }, run.signal, (event, data) => {
                if (run.signal.aborted) return;
                if (event === "progress") this.progress = data as Progress;
                if (event === "done") this.isPrecise = (data as { precise: boolean }).precise;
                if (event !== "answer") return;
                if (first) this.took = { ...this.took, first: performance.now() - began, of };
                first = false;
                this.simulated = data as Answer;
                this.simulatedToml = toml;
                this.isStale = false;
            });
        } catch (error) {
            if (!run.signal.aborted) this.fail(error);
        } finally {
            if (this.run === run) this.isRunning = false;
        }
    }

    fail(error: unknown): void {
        this.trouble =
            error instanceof api.Refused ? error.refusal : { problem: String(error), fix: "reload the page" };
    }
}
