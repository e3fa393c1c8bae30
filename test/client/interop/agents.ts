/** Behaviour of agents, independent of the SDK: the adapters of the peers run it. */
import type { TaskState } from 'a2a-tasks'
import type { Artifact, Part } from 'a2a-tasks/schemas'

/** One turn of an agent, in the terms of A2A 1.0. */
export interface Turn {
  readonly text: string
  readonly messageId: string
  readonly parts: readonly Part[]
  readonly metadata: unknown
  /** Of the request. */
  readonly requested: unknown
  readonly references: readonly string[]
  readonly extensions: readonly string[]
  readonly tenant: string
  readonly isFollowUp: boolean
  /** Settles when the task is canceled. */
  readonly stopped: Promise<void>
}

export type Act =
  | { readonly status: TaskState; readonly text?: string }
  | { readonly artifact: Artifact; readonly append?: boolean; readonly lastChunk?: boolean }
  /** Instead of a task. */
  | { readonly reply: readonly Part[] }

export type Agent = (turn: Turn) => Iterable<Act> | AsyncIterable<Act>

/** A promise that the test, or the agent, settles by hand. */
export interface Gate {
  readonly opened: Promise<void>
  readonly open: () => void
}

export function gate(): Gate {
  let open: () => void = () => undefined
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  return { opened, open }
}

export function textOf(parts: readonly Part[] | undefined): string {
  return (parts ?? []).map(({ text = '' }) => text).join('')
}

export function textArtifact(text: string, artifactId = 'answer'): Artifact {
  return { artifactId, parts: [{ text }] }
}

export function* echo({ text }: Turn): Generator<Act> {
  yield { artifact: textArtifact(`You said: ${text}`) }
  yield { status: 'completed' }
}

export function* replier({ text }: Turn): Generator<Act> {
  yield { reply: [{ text: `Hello ${text}` }] }
}

/** Every kind of event that a task has. */
export function* storyteller(): Generator<Act> {
  yield { status: 'working', text: 'thinking' }
  yield { artifact: { ...textArtifact('one ', 'story'), name: 'Story' } }
  yield { artifact: textArtifact('two ', 'story'), append: true }
  yield { artifact: textArtifact('three', 'story'), append: true, lastChunk: true }
  yield { status: 'completed', text: 'done' }
}

export function* asker({ text, isFollowUp }: Turn): Generator<Act> {
  if (!isFollowUp) {
    yield { status: 'input-required', text: 'Which city?' }
    return
  }
  yield { artifact: textArtifact(`Sunny in ${text}`) }
  yield { status: 'completed' }
}

/** Works until it is told to stop. */
export async function* worker({ stopped }: Turn): AsyncGenerator<Act> {
  yield { status: 'working', text: 'busy' }
  await stopped
}

/** Tells something, and the rest only when the gate is open. */
export function hesitant({ opened }: Gate): Agent {
  return async function* () {
    yield { artifact: textArtifact('before') }
    await opened
    yield { artifact: textArtifact(' after'), append: true }
    yield { status: 'completed' }
  }
}

export function ender(status: TaskState, text: string): Agent {
  return () => [{ status, text }]
}

/** Sends back the parts, and the rest of the request as a part of data. */
export function* mirror(turn: Turn): Generator<Act> {
  const { metadata, requested, references, extensions, tenant, messageId } = turn
  const received = { metadata, requested, references, extensions, tenant, messageId }
  yield {
    artifact: {
      ...{ artifactId: 'mirror', name: 'Mirror', description: 'What came', metadata: { seen: true } },
      parts: [...turn.parts],
    },
  }
  // What is no JSON is left out.
  const data = JSON.parse(JSON.stringify(received)) as Record<string, never>
  yield { artifact: { artifactId: 'request', parts: [{ data }] } }
  yield { status: 'completed' }
}
