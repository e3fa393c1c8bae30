import { AgentCard, ListTasksResponse, Message, TaskState, type ListTasksRequest } from '@a2a-js/sdk'
import type { Client } from '@a2a-js/sdk/client'
import type * as wire from 'a2a-tasks/schemas'
import { describe, expect, test } from 'vitest'
import { connect, faultOf, MODERN_LINES, modernClient, modernFactory, say, taskOf, textOf } from './peers.js'
import { collect, rejection, serve } from './support/agent.js'

// Only A2A 1.0 has lists and tenants, and of the official SDKs only 1.3.0 asks for them.

const ALL: ListTasksRequest = {
  tenant: '',
  contextId: '',
  status: TaskState.TASK_STATE_UNSPECIFIED,
  pageToken: '',
  statusTimestampAfter: undefined,
}

async function list(client: Client, query: Partial<ListTasksRequest> = {}): Promise<wire.ListTasksResponse> {
  const page = ListTasksResponse.toJSON(await client.listTasks({ ...ALL, ...query }))
  // The SDK leaves out what is empty.
  return {
    tasks: [],
    nextPageToken: '',
    totalSize: 0,
    ...(page as object),
  } as unknown as wire.ListTasksResponse
}

function userMessage(text: string): Message {
  return Message.fromJSON({ messageId: text, role: 'ROLE_USER', parts: [{ text }] })
}

describe.each(MODERN_LINES)('SDK $sdk, A2A $speaks over $binding', (line) => {
  /** Five tasks: those with an even number failed, the last two are of one context. */
  async function withFive(): Promise<{ client: Client; ids: string[] }> {
    const { url } = await serve({
      execute(run) {
        run.artifact(run.text)
        if (Number(run.text) % 2 === 0) run.fail('even')
      },
    })
    const peer = await connect(line, url)
    const ids: string[] = []
    for (const text of ['1', '2', '3', '4', '5']) {
      const contextId = Number(text) > 3 ? 'late' : undefined
      ids.push(taskOf(await peer.send(say(text, { contextId }))).id)
    }
    return { client: await modernClient(line, url, fetch), ids }
  }

  test('pages lead through all tasks, each once', async () => {
    const { client, ids } = await withFive()
    const seen: string[] = []
    const sizes: number[] = []
    let pageToken = ''
    do {
      const page = await list(client, { pageSize: 2, pageToken })
      expect(page).toMatchObject({ pageSize: 2, totalSize: 5 })
      seen.push(...page.tasks.map(({ id }) => id))
      sizes.push(page.tasks.length)
      pageToken = page.nextPageToken
    } while (pageToken !== '')
    expect(sizes).toEqual([2, 2, 1])
    expect(new Set(seen)).toEqual(new Set(ids))
    expect(seen).toHaveLength(5)
  })

  test('the latest comes first, without artifacts, in pages of 50', async () => {
    const { client } = await withFive()
    const page = await list(client)
    expect(page).toMatchObject({ pageSize: 50, totalSize: 5, nextPageToken: '' })
    const times = page.tasks.map(({ status }) => status.timestamp ?? '')
    expect(times).toEqual([...times].sort().reverse())
    for (const task of page.tasks) expect(task.artifacts ?? []).toEqual([])
  })

  test('filters narrow it down, all of them at once', async () => {
    const { client, ids } = await withFive()
    const find = async (query: Partial<ListTasksRequest>): Promise<Set<string>> => {
      const page = await list(client, query)
      expect(page.totalSize).toBe(page.tasks.length)
      return new Set(page.tasks.map(({ id }) => id))
    }
    const failed = { status: TaskState.TASK_STATE_FAILED }
    expect(await find({ contextId: 'late' })).toEqual(new Set([ids[3], ids[4]]))
    expect(await find(failed)).toEqual(new Set([ids[1], ids[3]]))
    expect(await find({ ...failed, contextId: 'late' })).toEqual(new Set([ids[3]]))
    expect(await find({ contextId: 'none' })).toEqual(new Set())
    expect(await find({ statusTimestampAfter: '2999-01-01T00:00:00.000Z' })).toEqual(new Set())
    const newest = (await list(client, { pageSize: 1 })).tasks[0]?.status.timestamp
    expect((await find({ statusTimestampAfter: newest })).size).toBeGreaterThan(0)
  })

  test('artifacts and history come as they are asked for', async () => {
    const { client } = await withFive()
    const query = { includeArtifacts: true, historyLength: 1, status: TaskState.TASK_STATE_FAILED }
    const { tasks } = await list(client, query)
    expect(tasks.map(({ artifacts }) => textOf(artifacts?.[0]?.parts)).sort()).toEqual(['2', '4'])
    expect(tasks.map(({ history }) => history?.map(({ parts }) => textOf(parts)))).toEqual([
      ['even'],
      ['even'],
    ])
    const bare = await list(client, { historyLength: 0 })
    for (const { history } of bare.tasks) expect(history ?? []).toEqual([])
  })

  test.each<[string, Partial<ListTasksRequest>]>([
    ['too large', { pageSize: 101 }],
    ['of none', { pageSize: 0 }],
    ['after an unknown token', { pageToken: 'made up' }],
    ['of a time that is none', { statusTimestampAfter: 'yesterday' }],
    ['with a negative history', { historyLength: -1 }],
  ])('no page is %s', async (_, query) => {
    const { url } = await serve({ execute: () => 'ok' })
    const client = await modernClient(line, url, fetch)
    // Whether or not there is a task to list.
    expect(faultOf(await rejection(() => list(client, query)))).toBe('RequestMalformedError')
    await (await connect(line, url)).send(say('go'))
    expect(faultOf(await rejection(() => list(client, query)))).toBe('RequestMalformedError')
  })

  describe('a tenant', () => {
    const TENANT = 'acme/eu: größe'
    const face = (url: string) => ({ url, protocolBinding: line.binding, protocolVersion: '1.0' })

    async function withTenant(): Promise<{ inside: Client; outside: Client; tenants: unknown[] }> {
      const tenants: unknown[] = []
      const { url, handler } = await serve({
        async execute(run) {
          tenants.push(run.tenant)
          if (run.text === 'wait') await run.requireInput('?')
          return 'ok'
        },
        card: (base) => ({
          supportedInterfaces: [{ ...face(base), tenant: TENANT }],
        }),
      })
      const inside = await modernClient(line, url, fetch)
      const card = { ...handler.card, supportedInterfaces: [{ ...face(url), tenant: 'another' }] }
      const outside = await modernFactory(line.binding).createFromAgentCard(AgentCard.fromJSON(card))
      return { inside, outside, tenants }
    }

    test('goes with every request, and has its own tasks', async () => {
      const { inside, outside, tenants } = await withTenant()
      const request = { tenant: '', configuration: undefined, metadata: undefined }
      const waiting = await inside.sendMessage({ ...request, message: userMessage('wait') })
      if (!('id' in waiting)) throw new Error('There is no task')
      const { id } = waiting
      expect(tenants).toEqual([TENANT])
      const find = { tenant: '', id }
      expect((await inside.getTask({ ...find, historyLength: 1 })).history).toHaveLength(1)
      expect((await list(inside)).tasks.map((task) => task.id)).toEqual([id])
      expect((await list(outside)).tasks).toEqual([])
      const cancel = { ...find, metadata: undefined }
      for (const call of [
        () => outside.getTask(find),
        () => outside.cancelTask(cancel),
        () => collect(outside.resubscribeTask(find)),
      ]) {
        expect(faultOf(await rejection(call))).toBe('TaskNotFoundError')
      }
      const watched = inside.resubscribeTask(find)
      await watched.next()
      expect((await inside.cancelTask(cancel)).status?.state).toBe(TaskState.TASK_STATE_CANCELED)
      expect(await collect(watched)).toHaveLength(1)
      const events = await collect(inside.sendMessageStream({ ...request, message: userMessage('go') }))
      expect(events[0]?.payload?.$case).toBe('task')
      expect(tenants).toEqual([TENANT, TENANT])
    })
  })
})
