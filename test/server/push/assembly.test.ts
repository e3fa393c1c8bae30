/** A receiver that assembles artifacts from notifications, by the rules of docs/guides/webhooks.md. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { verifyNotification, type PushNotification, type RemoteEvent } from 'a2a-tasks/client'
import { textOf, type Run } from 'a2a-tasks/server'
import { toNodeListener } from 'a2a-tasks/server/node'
import { expect, onTestFinished, test } from 'vitest'
import { endOf, pushAgent } from './support/push.js'

type Artifact = Extract<RemoteEvent, { type: 'artifact' }>['artifact']

/** What the receiver knows of one task. */
interface Known {
  generation: number
  artifacts: Map<string, Artifact>
}

function apply(known: Known, { event, id = '' }: PushNotification): void {
  const generation = Number(id.split('/').at(-1))
  if (!(generation > known.generation)) return
  known.generation = generation
  if (event.type === 'task')
    known.artifacts = new Map(event.task.artifacts.map((artifact) => [artifact.artifactId, artifact]))
  if (event.type !== 'artifact') return
  const { artifact, append } = event
  const present = known.artifacts.get(artifact.artifactId)
  if (append && present) present.parts.push(...artifact.parts)
  else known.artifacts.set(artifact.artifactId, artifact)
}

/** A webhook that assembles one task, and answers its requests by `reply`: the number of the request, from 1. */
async function assembling(reply: (count: number) => number) {
  const known: Known = { generation: 0, artifacts: new Map() }
  const ids: string[] = []
  let count = 0
  const server = createServer(
    toNodeListener(async (request) => {
      const notification = await verifyNotification(request, { token: 'secret', isExpected: () => true })
      ids.push(notification.id ?? '')
      apply(known, notification)
      count += 1
      return new Response(null, { status: reply(count) })
    }),
  )
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`
  const text = (): string[] => [...known.artifacts.values()].map(textOf)
  return { url, ids, known, text }
}

/** Two artifacts, whose chunks take turns. */
async function chunks(run: Run): Promise<void> {
  for (const word of ['One', ' two', ' three', ' four']) {
    run.artifact({ artifactId: 'a', parts: [{ text: word }] })
    run.artifact({ artifactId: 'b', parts: [{ text: word.toUpperCase() }] })
    await Promise.resolve()
  }
}

const HOUR_MS = 3_600_000

async function deliveredTo(reply: (count: number) => number) {
  const hook = await assembling(reply)
  // On a busy machine the clock moves on by minutes while requests are under way.
  const agent = pushAgent({ execute: chunks, push: { maxAttempts: 3, timeoutMs: HOUR_MS } })
  const message = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'Go' }] }
  const configuration = { taskPushNotificationConfig: { url: hook.url, token: 'secret' } }
  const { task } = await agent.call<{ task: { id: string } }>('SendMessage', { message, configuration })
  await endOf(agent.handler.close({ graceMs: 24 * HOUR_MS }), agent.clock)
  const artifacts = (agent.tasks.getTask(task.id)?.artifacts ?? []) as readonly Artifact[]
  return { ...hook, expected: artifacts.map(textOf) }
}

test('every chunk is applied once when the agent repeats what was not acknowledged', async () => {
  // Two of three requests are applied and not acknowledged.
  const { ids, text, expected } = await deliveredTo((count) => (count % 3 === 0 ? 204 : 503))
  expect(text()).toEqual(expected)
  expect(expected).toEqual(['One two three four', 'ONE TWO THREE FOUR'])
  expect(ids.length).toBe(3 * new Set(ids).size)
})

test('notifications arrive in order, without gaps in their content', async () => {
  const { ids, text, expected } = await deliveredTo(() => 204)
  const generations = ids.map((id) => Number(id.split('/').at(-1)))
  expect(generations).toEqual([...generations].sort((left, right) => left - right))
  expect(text()).toEqual(expected)
})

test('a request that is processed after a later one changes nothing', () => {
  const known: Known = { generation: 0, artifacts: new Map() }
  const notification = (generation: number, text: string, append = true): PushNotification => ({
    ...{ taskId: 't', version: '1.0', id: `t/w/${generation}` },
    event: {
      type: 'artifact',
      taskId: 't',
      artifact: { artifactId: 'a', parts: [{ text }] },
      append,
      lastChunk: false,
    },
  })
  for (const each of [
    notification(2, 'One', false),
    notification(3, ' two'),
    notification(5, ' three'),
    notification(3, ' two'),
  ])
    apply(known, each)
  expect(textOf(known.artifacts.get('a') ?? { parts: [] })).toBe('One two three')
})
