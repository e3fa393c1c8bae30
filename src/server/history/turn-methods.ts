/**
 * The methods of a run that its turn has.
 *
 * @module
 */
import type { Principal } from '../caller.js'
import { Halves, type Chunk } from '../runs/task/halves.js'
import type { ArtifactOptions, Run, TurnMethods } from '../runs/run.js'
import { RunInput } from '../runs/run-input.js'

/** What a turn does with chunks. */
interface WritingTurn {
  readonly isReplaying: boolean
  write(chunk: Chunk, options: ArtifactOptions | undefined): void
  end(): void
}

/** Getters: runs that use none of the methods have none. */
export abstract class TurnRun<P extends Principal> extends RunInput<P> implements TurnMethods<P> {
  abstract readonly turn: TurnMethods<P> & WritingTurn
  #halves: Halves | undefined

  get step(): Run<P>['step'] {
    return (name, work, options) => {
      const whole: typeof work = (context) => this.#made.within(() => work(context))
      // What is no function is refused.
      return this.turn.step(name, typeof work === 'function' ? whole : work, options)
    }
  }

  get transaction(): Run<P>['transaction'] {
    return this.turn.transaction
  }

  get delegate(): Run<P>['delegate'] {
    return this.turn.delegate
  }

  get lineageTo(): Run<P>['lineageTo'] {
    return this.turn.lineageTo
  }

  get sleep(): Run<P>['sleep'] {
    return this.turn.sleep
  }

  get waitFor(): Run<P>['waitFor'] {
    return this.turn.waitFor
  }

  get now(): Run<P>['now'] {
    return this.turn.now
  }

  get random(): Run<P>['random'] {
    return this.turn.random
  }

  get uuid(): Run<P>['uuid'] {
    return this.turn.uuid
  }

  get changed(): Run<P>['changed'] {
    return this.turn.changed
  }

  /** Adds a chunk to the task, unless an earlier attempt has. Half of a character at its end waits for the next chunk. */
  protected writeChunk(given: Chunk, options: ArtifactOptions | undefined): void {
    const chunk = this.#made.take(given, options)
    if (!this.turn.isReplaying) this.turn.write(chunk, options)
  }

  /** The code writes no more chunks. */
  protected endChunks(): void {
    this.#halves?.end()
  }

  /** The code has ended, and the task has not. */
  protected endTurn(): void {
    this.endChunks()
    this.turn.end()
  }

  get #made(): Halves {
    return (this.#halves ??= new Halves((chunk) => {
      try {
        if (!this.turn.isReplaying) this.turn.write(chunk, undefined)
      } catch {
        // The task has ended, or has no room: the text ends without the half.
      }
    }))
  }
}
