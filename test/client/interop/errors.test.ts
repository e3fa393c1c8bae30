/** Every error that a peer can produce, as the client throws it. */
import { A2AError } from 'a2a-tasks'
import { describe, expect, test } from 'vitest'
import type { A2AClient } from '../../../src/client/index.js'
import { asker, echo, type Act, type Agent } from './agents.js'
import { EXPECTED, type Failing } from './errors.js'
import { PEERS } from './peers.js'
import {
  clientOf,
  collect,
  fault,
  pretend,
  quiet,
  type Peer,
  type ServeOptions,
  type Served,
} from './support/agent.js'

interface Scene {
  readonly client: A2AClient
  readonly peer: Peer
  readonly served: Served
}

interface Case {
  readonly row: Failing
  readonly options?: Partial<ServeOptions>
  /** What the card says that is not so: the client itself would refuse otherwise. */
  readonly pretended?: Parameters<typeof pretend>[1]
  readonly run: (scene: Scene) => unknown
}

const EVERYTHING = { streaming: true, pushNotifications: true, extendedAgentCard: true }
const NO_TASK = 'no-such-task'
const EXTENSION = 'https://extensions.example/required/v1'

async function ended(client: A2AClient, text = 'go'): Promise<{ id: string; contextId: string }> {
  const sent = await client.send(text)
  if (sent.type !== 'task') throw new Error('There is no task')
  const { id, contextId = '' } = sent.task
  return { id, contextId }
}

/** Says something first, so that the stream has begun. */
const breaking: Agent = async function* (): AsyncGenerator<Act> {
  yield { artifact: { artifactId: 'a', parts: [{ text: 'one' }] } }
  yield await Promise.resolve({ reply: [{ text: 'A reply is no part of a task' }] })
}

const silent: Agent = async function* (): AsyncGenerator<Act> {
  // Nothing comes of it.
}

/** A client whose requests are spoilt on their way. */
function spoilt({ peer, served }: Scene, init: RequestInit): A2AClient {
  const { fetch: own = (url: string, given?: RequestInit) => fetch(url, given) } = served
  return clientOf(peer, served, { fetch: (url, given) => own(url, { ...given, ...init }) })
}

const CASES: readonly Case[] = [
  { row: 'getTask of no task', run: ({ client }) => client.getTask(NO_TASK) },
  { row: 'getTask of an id that must be escaped', run: ({ client }) => client.getTask('a:b/c?d=ü#e %2F') },
  { row: 'cancelTask of no task', run: ({ client }) => client.cancelTask(NO_TASK) },
  { row: 'subscribe to no task', run: ({ client }) => collect(client.subscribe(NO_TASK)) },
  { row: 'send to no task', run: ({ client }) => client.send('go', { taskId: NO_TASK }) },
  { row: 'stream to no task', run: ({ client }) => collect(client.stream('go', { taskId: NO_TASK })) },
  {
    row: 'push configuration of no task',
    options: { push: true },
    pretended: EVERYTHING,
    run: ({ client }) => client.listPushConfigs(NO_TASK),
  },
  {
    row: 'no such push configuration',
    options: { push: true },
    pretended: EVERYTHING,
    run: async ({ client }) => client.getPushConfig((await ended(client)).id, 'none'),
  },
  {
    row: 'cancelTask of an ended task',
    run: async ({ client }) => client.cancelTask((await ended(client)).id),
  },
  {
    row: 'send to an ended task',
    run: async ({ client }) => client.send('more', { taskId: (await ended(client)).id }),
  },
  {
    row: 'stream to an ended task',
    run: async ({ client }) => collect(client.stream('more', { taskId: (await ended(client)).id })),
  },
  {
    row: 'subscribe to an ended task',
    run: async ({ client }) => collect(client.subscribe((await ended(client)).id)),
  },
  {
    row: 'another context than that of the task',
    options: { agent: asker },
    run: async ({ client }) => client.send('x', { taskId: (await ended(client)).id, contextId: 'another' }),
  },
  {
    row: 'stream where there are none',
    options: { streaming: false },
    pretended: EVERYTHING,
    run: ({ client }) => collect(client.stream('go')),
  },
  {
    row: 'subscribe where there are no streams',
    options: { streaming: false },
    pretended: EVERYTHING,
    run: ({ client }) => collect(client.subscribe(NO_TASK)),
  },
  {
    row: 'push where there is none',
    pretended: EVERYTHING,
    run: ({ client }) => client.createPushConfig(NO_TASK, { url: 'https://client.example/hook' }),
  },
  {
    row: 'an extended card that is not declared',
    pretended: EVERYTHING,
    run: ({ client }) => client.getExtendedAgentCard(),
  },
  {
    row: 'an extended card that is not configured',
    options: { extended: true },
    run: ({ client }) => client.getExtendedAgentCard(),
  },
  {
    row: 'an extended card without credentials',
    options: { extended: 'For those who are known', token: 'secret' },
    run: ({ client }) => client.getExtendedAgentCard(),
  },
  { row: 'no credentials', options: { token: 'secret' }, run: ({ client }) => client.getTask(NO_TASK) },
  {
    row: 'an extension that is required',
    options: { required: EXTENSION },
    run: ({ client }) => client.send('go'),
  },
  {
    row: 'a version that is not spoken',
    run: ({ client }) => client.getTask(NO_TASK, { headers: { 'a2a-version': '9.9' } }),
  },
  {
    row: 'a media type that is not taken',
    options: { checkModes: true },
    run: ({ client }) => client.send({ parts: [{ raw: 'AAAA', mediaType: 'image/png' }] }),
  },
  {
    row: 'a body that is not declared as JSON',
    run: ({ client }) => client.send('go', { headers: { 'content-type': 'text/plain' } }),
  },
  { row: 'a body that is no JSON', run: (scene) => spoilt(scene, { body: '{' }).send('go') },
  { row: 'a body that is no request', run: (scene) => spoilt(scene, { body: '{}' }).send('go') },
  {
    row: 'a body that is too large',
    run: ({ client }) => client.send('x'.repeat(5_000_000)),
  },
  {
    row: 'a method that is not there',
    run: (scene) =>
      spoilt(scene, { body: '{"jsonrpc":"2.0","id":1,"method":"no/such","params":{}}' }).send('go'),
  },
  { row: 'an agent that makes nothing', options: { agent: silent }, run: ({ client }) => client.send('go') },
  {
    row: 'a stream that breaks the rules',
    options: { agent: breaking },
    run: ({ client }) => collect(client.stream('go')),
  },
]

/** The fields of `error.data` by code, including those that the client completes. */
const KEYS: Readonly<Record<string, readonly string[]>> = {
  TASK_NOT_FOUND: ['taskId'],
  TASK_NOT_CANCELABLE: ['taskId', 'state'],
  UNSUPPORTED_OPERATION: ['operation'],
  INVALID_PARAMS: ['path', 'reason'],
  INVALID_REQUEST: ['reason'],
  PARSE_ERROR: ['reason'],
  METHOD_NOT_FOUND: ['method'],
  LIMIT_EXCEEDED: ['limit', 'max', 'actual'],
  CONTENT_TYPE_NOT_SUPPORTED: ['mediaType'],
  EXTENSION_SUPPORT_REQUIRED: ['extensions'],
  VERSION_NOT_SUPPORTED: ['version', 'supported'],
}

describe.each(PEERS)('$name', (peer) => {
  test.each(CASES)('$row', async ({ row, options, pretended, run }) => {
    quiet()
    const { code, but } = EXPECTED[row]
    const expected = but[peer.name] ?? { code, reason: '' }
    const served = await peer.serve({ agent: echo, ...options })
    const shown = pretended === undefined ? served : pretend(served, pretended)
    const client = clientOf(peer, shown)
    const scene = { client, peer, served: shown }
    if (expected.code === 'none') {
      await run(scene)
      return
    }
    const error = await fault(() => run(scene))
    expect(error.code, expected.reason).toBe(expected.code)
    expect(error.message).not.toBe('')
    const keys = KEYS[error.code]
    if (keys !== undefined) expect(Object.keys(error.data).sort()).toEqual([...keys].sort())
    if (A2AError.is(error, 'TASK_NOT_FOUND') && row.endsWith('no task')) {
      expect(error.data.taskId).toBe(NO_TASK)
    }
    if (row.endsWith('escaped')) expect(error.data).toEqual({ taskId: 'a:b/c?d=ü#e %2F' })
    if (A2AError.is(error, 'UNSUPPORTED_OPERATION')) expect(error.data.operation).toMatch(/^[A-Z]\w+$/)
    if (A2AError.is(error, 'EXTERNAL_SERVICE_ERROR')) expect(error.data.status).toBe(413)
  })
})
