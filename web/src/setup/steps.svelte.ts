// What the page knows of the set-up, and the steps that it takes.

import { Refused, type Refusal } from "../lib/api";
import { NOTHING, step, type Look, type Proposal, type Said, type Step } from "../lib/setup";

const EVERY_MS = 1000;

const told = (error: unknown): Refusal =>
    error instanceof Refused ? error.refusal : { problem: String(error), fix: "reload the page" };

export class Steps {
    said = $state.raw<Said>(NOTHING);
    proposal = $state.raw<Proposal | null>(null);
    look = $state.raw<Look | null>(null);
    /** Why the last step was not taken. */
    refused = $state.raw<Refusal | null>(null);
    /** Why there is no answer at all. */
    silence = $state.raw<Refusal | null>(null);
    isBusy = $state(false);

    private token = "";
    private asked = 0;
    private changed: Promise<void> = Promise.resolve();

    /** Looks with `token` until the returned function is called. */
    start(token: string): () => void {
        this.token = token;
        let timer = 0;
        let ended = false;
        const next = async () => {
            if (!document.hidden) await this.again();
            if (!ended) timer = window.setTimeout(() => void next(), EVERY_MS);
        };
        void this.propose(NOTHING);
        void next();
        return () => {
            ended = true;
            clearTimeout(timer);
        };
    }

    private async again() {
        try {
            this.look = await step<Look>(this.token, { do: "look" });
            this.silence = null;
        } catch (error) {
            this.silence = told(error);
        }
    }

    /** What follows from `said`; the answer to an older question is not shown. */
    async propose(said: Said) {
        this.said = said;
        const own = ++this.asked;
        try {
            const proposal = await step<Proposal>(this.token, { do: "propose", said });
            if (own === this.asked) [this.proposal, this.refused] = [proposal, null];
        } catch (error) {
            if (own === this.asked) this.refused = told(error);
        }
    }

    /** Changes what was said, once what was said before has its answer: a role means what it means in that answer. */
    change(how: (said: Said, proposal: Proposal) => Said): Promise<void> {
        this.changed = this.changed.then(async () => {
            if (this.proposal) await this.propose(how(this.said, this.proposal));
        });
        return this.changed;
    }

    /** Takes a step that changes something; whether it was taken. */
    async take(what: Step): Promise<boolean> {
        this.isBusy = true;
        try {
            this.look = await step<Look>(this.token, what);
            this.refused = null;
            return true;
        } catch (error) {
            this.refused = told(error);
            await this.again();
            return false;
        } finally {
            this.isBusy = false;
        }
    }
}
