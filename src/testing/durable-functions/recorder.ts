/**
 * Record of one trial of a durable function: what its processes store and do.
 *
 * @module
 */
import type { JournalEntry } from '../../core/events.js'
import type { StoredEvent } from '../../durable/stored-events.js'
import type { Run } from '../../server/run/run.js'
import type { StepContext } from '../../server/journal/call-types.js'

type StepEntry = Extract<JournalEntry, { readonly kind: 'step' }>

export class Recorder {
  /** How many questions the function has asked. */
  questions = 0
  /** The tasks of the messages that are stored, by the id of the message. */
  readonly messages = new Map<string, string>()
  /** How often the work of a step has begun. */
  stepsBegun = 0
  /** Steps whose work began although their output was stored. */
  readonly repeated: string[] = []
  /** The delegations that other agents have not ended. */
  readonly delegations = new Set<string>()
  /** The names of the signals that are stored. */
  readonly #signals: string[] = []
  /** The steps of the present turn that no attempt does again, in the order in which they were stored. */
  #stored: readonly StepEntry[] = []

  readonly onEvents = (events: readonly StoredEvent[]): void => {
    for (const event of events) {
      if (event.type === 'message') this.messages.set(event.message.messageId, event.taskId)
      if (event.type !== 'history') continue
      const { entry } = event
      if (entry.kind === 'turn' || entry.kind === 'end') this.#stored = []
      if (entry.kind === 'step') this.#stored = [...this.#stored, entry]
      if (entry.kind === 'attempt') this.#stored = withoutStep(this.#stored, entry.step)
      if (entry.kind === 'question') this.questions += 1
      if (entry.kind === 'signal') this.#signals.push(entry.name)
      if (entry.kind === 'delegate') this.delegations.add(entry.name)
      if (entry.kind === 'delegated') this.delegations.delete(entry.name)
    }
  }

  /** How many signals of this name are stored. */
  signalsOf(name: string): number {
    return this.#signals.filter((each) => each === name).length
  }

  #begun(step: StepContext): StepContext {
    this.stepsBegun += 1
    // Without the place of the turn.
    const label = step.key.slice(step.key.indexOf('/') + 1).replace(/(#\d+)@[\d.]+$/, '$1')
    if (this.#stored.some(({ name }) => name === label)) this.repeated.push(label)
    return step
  }

  /** The run with counted steps, and with random values that are the same in each trial. */
  readonly wrap = (run: Run): Run => {
    let values = 0
    const own: Partial<Run> = {
      step: (name, work, options) => run.step(name, (step) => work(this.#begun(step)), options),
      transaction: (name, work, options) =>
        // The client is passed on as it is.
        run.transaction(name, (client, step) => work(client as never, this.#begun(step)), options),
      random: () => {
        run.random()
        return (++values % 1_000) / 1_000
      },
      uuid: () => {
        run.uuid()
        return `00000000-0000-4000-8000-${String(++values).padStart(12, '0')}`
      },
    }
    return new Proxy(run, {
      get: (target, name): unknown => Reflect.get(name in own ? own : target, name),
    })
  }
}

/** The next attempt does the step again whose error ended the last one, and what followed it unless it was parallel. */
function withoutStep(stored: readonly StepEntry[], failed: string | undefined): readonly StepEntry[] {
  const at = stored.findIndex(({ name }) => name === failed)
  if (at === -1) return stored
  const after = stored[at]?.isParallel === true ? stored.slice(at + 1) : []
  return [...stored.slice(0, at), ...after]
}
