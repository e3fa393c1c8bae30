/** Compares what a simulation has led to with what the rules say. */
import { SPENDING, spendingOf } from 'a2a-tasks'
import type { Ledger } from './ledger.js'
import type { Expected } from './model.js'
import type { Schedule } from './schedule.js'
import type { User } from './user.js'
import { textIn, type SeenTask } from './wire.js'

interface Result {
  readonly expected: Expected
  readonly schedule: Schedule
  readonly ledger: Ledger
  readonly user: User
  /** The stored task at the end. */
  readonly task: SeenTask | undefined
  readonly errands: readonly string[]
  readonly isAgentAtWork: boolean
}

/** What is wrong, in words. */
export function faultsOf(result: Result): string[] {
  const { ledger, user, task, schedule } = result
  if (task === undefined) return [...ledger.faults, 'the task cannot be read at the end']
  if (!user.isDone)
    return [
      ...ledger.faults,
      `the task hangs: it is ${task.status.state} at the end, last change at ${ledger.grownAt}`,
    ]
  const faults = [
    ...ledger.faults,
    ...differs('the state that a client has seen', user.task?.status.state, task.status.state),
  ]
  faults.push(...differs('the artifacts that a client has seen', textsOf(user.task), textsOf(task)))
  faults.push(
    ...differs('the metadata that a client has seen', sorted(user.task?.metadata), sorted(task.metadata)),
  )
  faults.push(...misread(ledger))
  const isCanceled = schedule.cancelAtMs !== undefined && task.status.state === 'TASK_STATE_CANCELED'
  // What the user says unasked may answer a question, and what is canceled may be at any point.
  if (!isCanceled && schedule.extras.length === 0) faults.push(...differences(result, task))
  if (isCanceled && result.isAgentAtWork)
    faults.push('the second agent still works for the task that is canceled')
  return faults
}

/** Each message of the user begins a turn or answers a question, once. */
function misread({ events }: Ledger): string[] {
  const sent = events.flatMap((event) =>
    event.type === 'message' && event.message.role === 'user' ? [event.message.messageId] : [],
  )
  const read = events.flatMap((event) => {
    if (event.type !== 'journal') return []
    const { entry } = event
    if (entry.kind === 'answer') return [entry.messageId]
    return entry.kind === 'turn' && entry.continued === undefined ? [entry.messageId] : []
  })
  return [
    ...twice(sent).map((id) => `the message ${id} is in the log twice`),
    ...twice(read).map((id) => `the message ${id} is read twice`),
  ]
}

function twice(ids: readonly string[]): string[] {
  return ids.filter((id, at) => ids.indexOf(id) !== at)
}

function differences({ expected, ledger, errands }: Result, task: SeenTask): string[] {
  const entries = ledger.events.flatMap((event) => (event.type === 'journal' ? [event.entry] : []))
  const namesOf = (kind: string): string[] =>
    entries
      .flatMap((entry) => (entry.kind === kind && 'name' in entry ? [entry.name.replace(/#\d+$/, '')] : []))
      .sort()
  const artifacts = task.artifacts.map((artifact) => [artifact.artifactId, textIn(artifact)] as const)
  const isNamed = ([id]: readonly [string, string]): boolean => expected.named.has(id)
  return [
    ...differs('the state', task.status.state, `TASK_STATE_${expected.state.toUpperCase()}`),
    ...differs(
      'the artifacts with ids',
      Object.fromEntries(artifacts.filter(isNamed).sort()),
      Object.fromEntries([...expected.named].sort()),
    ),
    ...differs(
      'the artifacts with generated ids',
      artifacts
        .filter((each) => !isNamed(each))
        .map(([, text]) => text)
        .sort(),
      expected.unnamed,
    ),
    ...differs('the number of questions', isBetween(namesOf('question').length, expected), true),
    ...differs('the number of answers', namesOf('answer').length, expected.answers),
    ...differs('the metadata', keysOf(task), expected.metadata),
    ...differs('what is spent', spendingOf(task)?.total['acts'] ?? 0, expected.spent),
    ...differs('the errands', [...errands].sort(), expected.errands),
  ]
}

function isBetween(asked: number, { questions, late }: Expected): boolean {
  return asked <= questions.length && asked >= questions.length - late
}

/** The keys that the program has set. */
function keysOf({ metadata }: SeenTask): string[] {
  return Object.keys(metadata)
    .filter((key) => key !== SPENDING)
    .sort()
}

function sorted(metadata: SeenTask['metadata'] = {}): unknown {
  return Object.fromEntries(Object.entries(metadata).sort())
}

function differs(what: string, actual: unknown, expected: unknown): string[] {
  const [is, should] = [JSON.stringify(actual), JSON.stringify(expected)]
  return is === should ? [] : [`${what}: ${is}, expected ${should}`]
}

function textsOf(task: SeenTask | undefined): unknown {
  return (task?.artifacts ?? []).map((artifact) => [artifact.artifactId, textIn(artifact)])
}
