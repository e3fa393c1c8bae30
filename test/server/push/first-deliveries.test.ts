import { describe, expect, test } from 'vitest'
import { pushAgent, receiver, summariesOf, until, type PushAgent } from './support/push.js'
import type { PushHealth } from 'a2a-tasks/server'

interface Principal {
  readonly id: string
}

/** Larger than half of what the tests allow in a minute. */
const ARTIFACTS = [{ parts: [{ text: 'x'.repeat(60_000) }] }]

function largeTask({ tasks }: PushAgent<Principal>, owner?: string): string {
  const { id } = tasks.createTask({ skill: 'test', ...(owner !== undefined && { owner }) })
  tasks.updateTask(id, { state: 'working', artifacts: ARTIFACTS })
  return id
}

/** The health of the latest webhook of a task. */
async function latest({ handler }: PushAgent<Principal>, taskId: string): Promise<PushHealth | undefined> {
  return (await handler.push.health(taskId)).at(-1)
}

/** Lets so many first notifications arrive, one after the other. */
async function use(agent: PushAgent<Principal>, taskId: string, url: string, count: number): Promise<void> {
  for (let index = 0; index < count; index += 1) {
    const { id } = await agent.create(taskId, { url })
    await until(async () => (await latest(agent, taskId))?.delivered === 1)
    await agent.call('DeleteTaskPushNotificationConfig', { taskId, id })
  }
}

describe('the first notifications of one task', () => {
  test('wait beyond the budget, although the webhook was deleted and registered again', async () => {
    const hook = await receiver()
    const agent = pushAgent<Principal>({ push: { maxFirstBytesPerTask: 100_000 } })
    const [id, other] = [largeTask(agent), largeTask(agent)]
    await use(agent, id, hook.url, 2)
    for (let index = 0; index < 10; index += 1) await agent.create(id, { url: hook.url })
    agent.tasks.updateTask(id, { state: 'completed' })
    // Another task is not affected, and its notification comes last.
    await use(agent, other, hook.url, 1)
    const states = (await agent.handler.push.health(id)).map(({ state, attempts }) => [state, attempts])
    expect(states).toEqual(Array(10).fill(['delivering', 0]))
    expect(hook.received).toHaveLength(3)
    // 20 kB are overdrawn, and each further notification takes 36 seconds.
    agent.clock.advance(13_000)
    await until(async () => (await agent.handler.push.health(id)).some(({ state }) => state === 'done'))
    expect(hook.received).toHaveLength(5)
    expect(summariesOf(hook.received.slice(3))).toEqual(['task working', 'completed'])
  })

  test('arrive one after the other as the budget is refilled, and none is lost', async () => {
    const hook = await receiver()
    const agent = pushAgent<Principal>({ push: { maxFirstBytesPerTask: 100_000, maxPerTask: 30 } })
    const id = largeTask(agent)
    for (let index = 0; index < 30; index += 1) await agent.create(id, { url: hook.url })
    await hook.arrived(2)
    const before = agent.clock.now()
    while (hook.received.length < 30) {
      agent.clock.advance(1_000)
      await until(async () => (await agent.handler.push.health(id)).every(isAtRest))
    }
    // 28 of them at 60 kB each, at 100 kB per minute.
    const minutes = (agent.clock.now() - before) / 60_000
    expect(minutes).toBeGreaterThan(15)
    expect(minutes).toBeLessThan(25)
  })

  test('count each time that they are sent', async () => {
    const hook = await receiver(503, 503, 503)
    const agent = pushAgent<Principal>({ push: { maxFirstBytesPerTask: 100_000 } })
    const id = largeTask(agent)
    await agent.create(id, { url: hook.url })
    await until(async () => (await latest(agent, id))?.attempts === 1)
    await until(async () => (await latest(agent, id))?.state === 'retrying')
    agent.clock.advance(1_000)
    await hook.arrived(2)
    await until(async () => (await latest(agent, id))?.state === 'retrying')
    agent.clock.advance(2_000)
    await until(async () => (await latest(agent, id))?.state === 'delivering')
    expect((await latest(agent, id))?.attempts).toBe(2)
    agent.clock.advance(30_000)
    await hook.arrived(3)
  })

  test('end with a webhook that is deleted while they wait', async () => {
    const hook = await receiver()
    const agent = pushAgent<Principal>({ push: { maxFirstBytesPerTask: 100_000 } })
    const id = largeTask(agent)
    await use(agent, id, hook.url, 2)
    const config = await agent.create(id, { url: hook.url })
    await agent.call('DeleteTaskPushNotificationConfig', { taskId: id, id: config.id })
    await agent.create(id, { url: `${hook.url}/next` })
    agent.clock.advance(13_000)
    await hook.arrived(3)
    expect(hook.received.map(({ path }) => path)).toEqual(['/hook', '/hook', '/hook/next'])
    expect(agent.errors).toEqual([])
  })

  test('are not delayed for a webhook that comes with the message that begins its task', async () => {
    const hook = await receiver(204, 204, 503)
    const agent = pushAgent<Principal>({
      push: { maxFirstBytesPerOwner: 100_000 },
      execute: (run) => run.artifact({ parts: [{ text: 'made' }] }),
    })
    await use(agent, largeTask(agent), hook.url, 2)
    const configuration = { taskPushNotificationConfig: { url: hook.url } }
    const message = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'Go' }] }
    const { task } = await agent.call<{ task: { id: string } }>('SendMessage', { message, configuration })
    await hook.arrived(3)
    await until(async () => (await latest(agent, task.id))?.state === 'retrying')
    // Sending it again is counted.
    agent.clock.advance(1_000)
    await until(async () => (await latest(agent, task.id))?.state === 'delivering')
    expect((await latest(agent, task.id))?.attempts).toBe(1)
    agent.clock.advance(20_000)
    await until(async () => (await latest(agent, task.id))?.state === 'done')
  })
})

function isAtRest({ state, attempts }: PushHealth): boolean {
  return state === 'idle' || (state === 'delivering' && attempts === 0)
}

test('the first notifications of one owner wait beyond their budget, and those of others do not', async () => {
  const hook = await receiver()
  const agent = pushAgent<Principal>({
    authenticate: () => ({ id: 'unused' }),
    push: { maxFirstBytesPerOwner: 100_000 },
  })
  const register = async (owner: string): Promise<string> => {
    const id = largeTask(agent, owner)
    await agent.create(id, { url: hook.url }, { principal: { id: owner } })
    return id
  }
  for (const id of [await register('ada'), await register('ada')])
    await until(async () => (await latest(agent, id))?.delivered === 1)
  const waiting = await register('ada')
  const free = await register('bob')
  await until(async () => (await latest(agent, free))?.delivered === 1)
  expect(await latest(agent, waiting)).toMatchObject({ state: 'delivering', attempts: 0 })
  agent.clock.advance(13_000)
  await until(async () => (await latest(agent, waiting))?.delivered === 1)
})

test('the first notifications to one host wait beyond their budget, and those to others do not', async () => {
  const hook = await receiver()
  const agent = pushAgent<Principal>({
    push: {
      maxFirstBytesPerHost: 100_000,
      allow: ['127.0.0.0/8'],
      resolve: () => Promise.resolve(['127.0.0.1']),
    },
  })
  const register = async (host: string): Promise<string> => {
    const id = largeTask(agent)
    await agent.create(id, { url: `http://${host}:${hook.port}/hook` })
    return id
  }
  for (const id of [await register('a.example'), await register('A.example')])
    await until(async () => (await latest(agent, id))?.delivered === 1)
  const waiting = await register('a.example')
  const free = await register('b.example')
  await until(async () => (await latest(agent, free))?.delivered === 1)
  expect(await latest(agent, waiting)).toMatchObject({ state: 'delivering', attempts: 0 })
  agent.clock.advance(13_000)
  await until(async () => (await latest(agent, waiting))?.delivered === 1)
})

test.each(['maxFirstBytesPerTask', 'maxFirstBytesPerOwner', 'maxFirstBytesPerHost'])(
  '"%s" is a whole number from 1',
  (name) => {
    expect(() => pushAgent({ push: { [name]: 0 } })).toThrow(`"push.${name}"`)
    expect(() => pushAgent({ push: { [name]: 1.5 } })).toThrow(`"push.${name}"`)
  },
)
