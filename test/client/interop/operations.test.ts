/** Lists, push configurations and cards, with each peer. */
import { describe, expect } from 'vitest'
import { A2AClient } from '../../../src/client/index.js'
import { asker, echo, worker } from './agents.js'
import { PEERS } from './peers.js'
import { clientOf, collect, connect, feature, pretend } from './support/agent.js'
import type { PushConfig } from './types.js'

const CONFIG: PushConfig = {
  id: 'config-1',
  url: 'https://client.example/hook?a=b',
  token: 'secret',
  authentication: { scheme: 'Bearer', credentials: 'credentials' },
}

async function idOf(client: A2AClient, text = 'go'): Promise<string> {
  const sent = await client.send(text, { returnImmediately: true })
  if (sent.type !== 'task') throw new Error('There is no task')
  return sent.task.id
}

describe.each(PEERS)('$name', (peer) => {
  feature(peer, 'listTasks, its pages', async (isPartial) => {
    const client = await connect(peer, { agent: echo })
    const ids: string[] = []
    for (const text of ['a', 'b', 'c', 'd', 'e']) {
      const sent = await client.send(text)
      if (sent.type === 'task') ids.push(sent.task.id)
    }
    const page = await client.listTasks({ pageSize: 2 })
    expect(page.tasks).toHaveLength(2)
    if (isPartial) {
      expect(page).toMatchObject({ nextPageToken: '' })
      expect((await client.listTasks()).tasks.map(({ id }) => id).sort()).toEqual(ids.sort())
      return
    }
    expect(page.totalSize).toBe(5)
    const second = await client.listTasks({ pageSize: 2, pageToken: page.nextPageToken })
    expect(second.tasks).toHaveLength(2)
    const pages = await collect(client.listTasks({ pageSize: 2 }))
    expect(pages.map(({ tasks }) => tasks.length)).toEqual([2, 2, 1])
    expect(pages.flatMap(({ tasks }) => tasks.map(({ id }) => id)).sort()).toEqual(ids.sort())
    expect(pages.at(-1)?.nextPageToken).toBe('')
  })

  feature(peer, 'listTasks, its filters', async () => {
    const client = await connect(peer, { agent: asker })
    const asked = await client.send('weather', { contextId: 'context-1' })
    if (asked.type !== 'task') throw new Error('There is no task')
    const { id } = asked.task
    await client.send('weather', { contextId: 'context-2' })
    await client.send('Rome', { taskId: id, contextId: 'context-1' })
    const idsOf = async (query: Parameters<A2AClient['listTasks']>[0]): Promise<(string | undefined)[]> =>
      (await client.listTasks(query)).tasks.map(({ contextId }) => contextId)
    expect(await idsOf({ contextId: 'context-1' })).toEqual(['context-1'])
    expect(await idsOf({ state: 'input-required' })).toEqual(['context-2'])
    expect(await idsOf({ state: 'failed' })).toEqual([])
    expect(await idsOf({ since: '2020-01-01T00:00:00.000Z' })).toHaveLength(2)
    expect(await idsOf({ since: '2999-01-01T00:00:00.000Z' })).toEqual([])
    const [task] = (await client.listTasks({ state: 'completed', historyLength: 1, includeArtifacts: true }))
      .tasks
    expect(task).toMatchObject({
      id,
      state: 'completed',
      artifacts: [{ parts: [{ text: 'Sunny in Rome' }] }],
    })
    expect(task?.messages).toHaveLength(1)
  })

  feature(peer, 'push configurations', async () => {
    const client = await connect(peer, { agent: worker, push: true })
    const id = await idOf(client)
    expect(await client.createPushConfig(id, CONFIG)).toEqual({ taskId: id, config: CONFIG })
    await client.createPushConfig(id, { id: 'config-2', url: 'https://client.example/other' })
    expect(await client.getPushConfig(id, 'config-1')).toEqual({ taskId: id, config: CONFIG })
    const all = await client.listPushConfigs(id)
    expect(all.map(({ config }) => config.id)).toEqual(['config-1', 'config-2'])
    expect(all.map(({ taskId }) => taskId)).toEqual([id, id])
    await client.deletePushConfig(id, 'config-1')
    expect((await client.listPushConfigs(id)).map(({ config }) => config.id)).toEqual(['config-2'])
    // Succeeds where there is none.
    await client.deletePushConfig(id, 'config-1')
  })

  feature(peer, 'a push configuration with the message', async () => {
    const served = await peer.serve({ agent: worker, push: true })
    const client = clientOf(peer, pretend(served, { pushNotifications: true }))
    const sent = await client.send('go', { returnImmediately: true, pushConfig: CONFIG })
    if (sent.type !== 'task') throw new Error('There is no task')
    expect((await client.listPushConfigs(sent.task.id)).map(({ config }) => config)).toEqual([CONFIG])
  })

  feature(peer, 'the extended card', async () => {
    const served = await peer.serve({ agent: echo, extended: 'For those who are known' })
    const client = clientOf(peer, served)
    expect(client.card).toMatchObject({ description: 'Answers' })
    const card = await client.getExtendedAgentCard()
    expect(card).toMatchObject({ description: 'For those who are known' })
    // It takes the place of the first.
    expect(client.card).toMatchObject({ description: 'For those who are known' })
    expect(await client.send('go')).toMatchObject({ type: 'task' })
  })

  feature(peer, 'connect by URL', async () => {
    const served = await peer.serve({ agent: echo })
    const client = await A2AClient.connect(served.url, {
      ...(served.fetch !== undefined && { fetch: served.fetch }),
      protocolVersions: [peer.version],
      protocolBindings: [peer.binding],
    })
    expect(client.interface).toMatchObject({ protocolBinding: peer.binding })
    expect(client.interface.protocolVersion).toMatch(new RegExp(`^${peer.version}`))
    expect(await client.send('go')).toMatchObject({ type: 'task', task: { state: 'completed' } })
  })
})
