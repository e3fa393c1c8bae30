/**
 * The methods of a run that its turn has.
 *
 * @module
 */
import type { Principal } from '../caller.js'
import type { Run, TurnMethods } from './run.js'
import { RunInput } from './run-input.js'

/** Getters: runs that use none of the methods have none. */
export abstract class TurnRun<P extends Principal> extends RunInput<P> implements TurnMethods<P> {
  abstract readonly turn: TurnMethods<P>

  get ask(): Run<P>['ask'] {
    return this.turn.ask
  }

  get approve(): Run<P>['approve'] {
    return this.turn.approve
  }

  get step(): Run<P>['step'] {
    return this.turn.step
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
}
