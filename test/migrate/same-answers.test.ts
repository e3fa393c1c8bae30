/** Executors of the official SDK: its clients get the same answers from this library as from the SDK's own server. */
import type { StreamResponse, Task } from 'a2a-tasks/schemas'
import type { SdkVersion } from 'a2a-tasks/migrate'
import type * as modernSdk from '@a2a-js/sdk/server'
import type * as legacySdk from 'a2a-sdk-v0-3/server'
import { describe, expect, test } from 'vitest'
import { connect, LINES, say, taskOf, textOf, type Line, type Peer } from '../server/interop/peers.js'
import { collect } from '../support/manager.js'
import * as legacy from './support/legacy-executors.js'
import * as modern from './support/modern-executors.js'
import { serveLegacy, serveModern, serveOurs, type Managers } from './support/servers.js'

const MANAGERS: readonly Managers[] = ['TaskManager', 'DurableTaskManager']
const CASES = LINES.filter(({ sdk, speaks }) => (sdk === '1.3.0') === (speaks === '1.0')).flatMap((line) =>
  (line.speaks === '1.0' ? (['1.0'] as const) : (['1.0', '0.3'] as const)).flatMap((version) =>
    MANAGERS.map((managers) => ({ version, managers, line, name: nameOf(version, managers, line) })),
  ),
)

function nameOf(version: SdkVersion, managers: Managers, { sdk, binding }: Line): string {
  return `executor of ${version}, ${managers}, client ${sdk} over ${binding}`
}

/** The executor of this name, behind both servers. */
async function both(
  name: Exclude<keyof typeof modern & keyof typeof legacy, 'textOf' | 'Publisher'>,
  { version, managers, line }: (typeof CASES)[number],
): Promise<{ theirs: Peer; ours: Peer; errors: unknown[] }> {
  const make = (): modernSdk.AgentExecutor | legacySdk.AgentExecutor =>
    version === '1.0' ? new modern[name]() : new legacy[name]()
  const url =
    version === '1.0'
      ? await serveModern(new modern[name](), line.binding)
      : await serveLegacy(new legacy[name](), line.binding)
  const ours = await serveOurs(make(), version, managers)
  return { theirs: await connect(line, url), ours: await connect(line, ours.url), errors: ours.errors }
}

const PROGRESS = 'Processing your question'

function summary(task: Task): unknown {
  const { status, artifacts = [], history = [] } = task
  return {
    state: status.state,
    said: status.message && textOf(status.message.parts),
    artifacts: artifacts.map(({ artifactId, name, parts }) => [artifactId, name, textOf(parts)]),
    // The SDK adds progress to the conversation, this library does not.
    history: history.map(({ role, parts }) => [role, textOf(parts)]).filter(([, text]) => text !== PROGRESS),
  }
}

function summaryOf({ task, message, statusUpdate, artifactUpdate }: StreamResponse): string {
  if (task !== undefined) return `task ${task.status.state}`
  if (message !== undefined) return `message ${textOf(message.parts)}`
  if (statusUpdate !== undefined) {
    const { state, message: said } = statusUpdate.status
    return `status ${state} ${textOf(said?.parts)}`.trim()
  }
  return `artifact ${String(artifactUpdate.append)} ${textOf(artifactUpdate.artifact.parts)}`
}

/** This library has two events where a task enters `working` with a message: the state, and the message. */
function joined(stream: readonly StreamResponse[] = []): string[] {
  const summaries = stream.map(summaryOf)
  return summaries.filter((each, index) => summaries[index + 1]?.startsWith(`${each} `) !== true)
}

describe.each(CASES)('$name', (each) => {
  test('hello world: a message and no task', async () => {
    const { theirs, ours } = await both('HelloExecutor', each)
    for (const peer of [theirs, ours]) {
      const { message, task } = await peer.send(say('you', { contextId: 'conversation' }))
      expect(task).toBeUndefined()
      expect(textOf(message?.parts)).toBe('Hello, you!')
      expect(message).toMatchObject({ role: 'ROLE_AGENT', contextId: 'conversation' })
      expect((await collect(peer.stream(say('two')))).map(summaryOf)).toEqual(['message Hello, two!'])
    }
  })

  test.each(['SampleExecutor', 'StreamingExecutor', 'RejectingExecutor'] as const)(
    '%s: the same task, the same stream',
    async (name) => {
      const { theirs, ours, errors } = await both(name, each)
      const sent = await Promise.all([theirs, ours].map(async (peer) => taskOf(await peer.send(say('hi')))))
      expect(summary(sent[1] as Task)).toEqual(summary(sent[0] as Task))
      const streams = await Promise.all([theirs, ours].map((peer) => collect(peer.stream(say('hi')))))
      expect(joined(streams[1])).toEqual(joined(streams[0]))
      expect(errors).toEqual([])
    },
  )

  test('a question, and the answer in another turn', async () => {
    const { theirs, ours, errors } = await both('AskingExecutor', each)
    const ended = await Promise.all(
      [theirs, ours].map(async (peer) => {
        const asked = taskOf(await peer.send(say('hi')))
        expect(summary(asked)).toMatchObject({
          state: 'TASK_STATE_INPUT_REQUIRED',
          said: 'What is your name?',
          history: [
            ['ROLE_USER', 'hi'],
            ['ROLE_AGENT', 'What is your name?'],
          ],
        })
        return taskOf(await peer.send(say('Ada', { taskId: asked.id })))
      }),
    )
    expect(summary(ended[1] as Task)).toEqual(summary(ended[0] as Task))
    expect(textOf(ended[1]?.artifacts?.[0]?.parts)).toBe('Hello Ada')
    expect(errors).toEqual([])
  })

  test('the client cancels', async () => {
    const { theirs, ours, errors } = await both('CancellableExecutor', each)
    for (const peer of [theirs, ours]) {
      const { id } = taskOf(await peer.send(say('hi'), { returnImmediately: true }))
      expect((await peer.cancel(id)).status.state).toBe('TASK_STATE_CANCELED')
      expect((await peer.get(id)).status.state).toBe('TASK_STATE_CANCELED')
    }
    expect(errors).toEqual([])
  })

  test('the executor throws: the task fails, and only the SDK shows the client why', async () => {
    const { theirs, ours, errors } = await both('FailingExecutor', each)
    const failed = taskOf(await theirs.send(say('hi')))
    expect(failed.status.state).toBe('TASK_STATE_FAILED')
    expect(textOf(failed.status.message?.parts)).toBe('Agent execution error: The database is away')
    const own = taskOf(await ours.send(say('hi')))
    expect(own.status.state).toBe('TASK_STATE_FAILED')
    expect(textOf(own.status.message?.parts)).toBe('The agent could not finish this task')
    expect(errors).toEqual([new Error('The database is away')])
  })
})
