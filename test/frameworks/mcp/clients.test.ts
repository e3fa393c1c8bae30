/** The official clients of MCP, 1.x and 2.x, drive our server: `test/mcp` has what they cannot show. */
import { expect, it } from 'vitest'
import * as z from 'zod'
import type { Execute } from 'a2a-tasks/server'
import { describeWith } from '../installed.js'
import {
  hostV1,
  hostV2,
  serve,
  sessionTasks,
  taskSession,
  textOf,
  type Ask,
  type ClientV1,
  type ClientV2,
  type Json,
} from './kit.js'

const BOOKING = z.object({
  day: z.enum(['Mon', 'Tue']),
  seats: z.int().min(1),
  extras: z.array(z.string()).optional(),
})

const agent: Execute = async (run) => {
  switch (run.text) {
    case 'files':
      run.artifact({ parts: [{ raw: 'aGk=', mediaType: 'image/png' }] })
      run.artifact({ parts: [{ raw: 'aGk=', mediaType: 'audio/wav' }] })
      run.artifact({ parts: [{ raw: 'aGk=', mediaType: 'application/pdf', filename: 'a.pdf' }] })
      run.artifact({ parts: [{ url: 'https://files.example/x.csv', filename: 'x.csv' }] })
      run.artifact({ parts: [{ data: { n: 1 } }] })
      return undefined
    case 'fail':
      run.fail('No flights')
      return undefined
    case 'report':
      run.update('One')
      await Promise.resolve()
      run.update('Two')
      return 'Done'
    case 'book':
      return JSON.stringify(await run.requireInput('When?', { schema: BOOKING }))
    case 'approve':
      return await run.approve('pay', { message: 'Pay?' })
    case 'words': {
      const { parts } = await run.requireInput('Which city?')
      return `City: ${parts[0]?.text ?? ''}`
    }
    case 'hold':
      return await new Promise((_, reject) => {
        run.signal.addEventListener('abort', () => reject(run.signal.reason as Error))
      })
    default:
      return `You said: ${run.text}`
  }
}

const HOSTS: readonly (readonly [name: string, connect: typeof hostV1])[] = [
  ['@modelcontextprotocol/sdk 1.x', hostV1],
  ['@modelcontextprotocol/client 2.x', hostV2],
]

const answer: Ask = ({ message }) => ({
  action: 'accept',
  content:
    message === 'When?'
      ? { day: 'Mon', seats: 2, extras: '["wifi"]' }
      : message === 'Pay?'
        ? { value: 'approve' }
        : { answer: 'Rome' },
})

describeWith('@modelcontextprotocol/sdk', () => {
  it.each(HOSTS)('%s learns what the server is, and its tools', async (name, connect) => {
    const { client } = await connect(await serve(agent))
    expect(client.getServerVersion()).toMatchObject({ name: 'Agent', version: '1.0.0' })
    expect(client.getInstructions()).toBe('Does it')
    const { tools } = await client.listTools()
    expect(tools).toMatchObject([{ name: 'default', title: 'Agent', description: 'Does it' }])
    if (name.includes('2.x')) expect((client as ClientV2).getProtocolEra()).toBe('modern')
  })

  it.each(HOSTS)('%s calls a tool: text, files, data, errors', async (_, connect) => {
    const { call, client } = await connect(await serve(agent))
    expect(textOf(await call('Hi'))).toBe('You said: Hi')
    expect(await call('files')).toMatchObject({
      content: [
        { type: 'image', mimeType: 'image/png' },
        { type: 'audio', mimeType: 'audio/wav' },
        { type: 'resource', resource: { blob: 'aGk=' } },
        { type: 'resource_link', name: 'x.csv' },
        { type: 'text', text: '{"n":1}' },
      ],
      structuredContent: { n: 1 },
    })
    expect(await call('fail')).toMatchObject({ isError: true, content: [{ text: 'No flights' }] })
    await expect(client.callTool({ name: 'other', arguments: {} })).rejects.toMatchObject({ code: -32602 })
  })

  it.each(HOSTS)('%s hears of progress', async (_, connect) => {
    const { call } = await connect(await serve(agent))
    const said: unknown[] = []
    const result = await call('report', {
      onprogress: ({ progress, message }) => said.push([progress, message]),
    })
    expect(said).toEqual([
      [0.001, 'One'],
      [0.002, 'Two'],
    ])
    expect(textOf(result)).toBe('Done')
  })

  it.each(HOSTS)('%s asks its user: forms, approvals, words', async (_, connect) => {
    const asked: string[] = []
    const { call } = await connect(await serve(agent), (params) => {
      asked.push(`${params.mode ?? 'form'} ${Object.keys(params.requestedSchema?.properties ?? {}).join()}`)
      return answer(params)
    })
    expect(textOf(await call('book'))).toBe('{"day":"Mon","seats":2,"extras":["wifi"]}')
    expect(textOf(await call('approve'))).toBe('approve')
    expect(textOf(await call('words'))).toBe('City: Rome')
    expect(asked).toEqual(['form day,seats,extras', 'form value', 'form answer'])
  })

  it.each(HOSTS)('%s declines', async (_, connect) => {
    const { call } = await connect(await serve(agent), () => ({ action: 'decline' }))
    expect(textOf(await call('approve'))).toBe('reject')
    expect(await call('book')).toMatchObject({ isError: true })
  })

  it.each(HOSTS)('%s cannot ask: its model answers by a second call', async (_, connect) => {
    const { call, client } = await connect(await serve(agent))
    const [, taskId] = /"taskId": "([^"]+)"/.exec(textOf(await call('words'))) ?? []
    const given = { name: 'default', arguments: { taskId, message: 'Rome' } }
    expect(textOf(await client.callTool(given))).toBe('City: Rome')
  })

  it.each(HOSTS)('%s cancels a call', async (_, connect) => {
    const served = await serve(agent)
    const { call } = await connect(served)
    const stop = new AbortController()
    const called = call('hold', { signal: stop.signal })
    called.catch(() => undefined)
    let taskId = ''
    await expect.poll(() => (taskId = served.tasks.listTasks()[0]?.id ?? '')).not.toBe('')
    stop.abort()
    await expect(called).rejects.toThrow()
    await expect(served.tasks.waitFor(taskId)).resolves.toMatchObject({ state: 'canceled' })
  })
})

describeWith('@modelcontextprotocol/sdk', () => {
  it.each<(typeof HOSTS)[number]>([
    ['1.x', hostV1],
    ['2.x with a session', (served, ask) => hostV2(served, ask, 'legacy')],
  ])('%s goes on with a call whose connection breaks while its user is asked', async (_, connect) => {
    const served = await serve(agent)
    const asked: string[] = []
    const { call } = await connect(served, async (params) => {
      asked.push(params.message)
      served.disconnect()
      // Until the pool of this process knows: an answer that gets lost is not sent again.
      await expect.poll(async () => (await fetch(served.url).catch(() => undefined))?.status).toBe(405)
      return await answer(params)
    })
    expect(textOf(await call('approve'))).toBe('approve')
    expect(asked).toEqual(['Pay?'])
    expect(served.tasks.listTasks()).toMatchObject([{ state: 'completed' }])
  })
})

describeWith('@modelcontextprotocol/ext-tasks', () => {
  it('follows a task to its end, and answers its questions', async () => {
    const served = await serve(agent)
    const session = await taskSession(served, answer)
    const settled = async (message: string): Promise<Json> => {
      const execution = await session.callTool('default', { message })
      const { outcome } = await execution.settle()
      return session.resultOf(outcome)
    }
    expect(textOf(await settled('Hi'))).toBe('You said: Hi')
    expect(textOf(await settled('book'))).toBe('{"day":"Mon","seats":2,"extras":["wifi"]}')
    expect(textOf(await settled('words'))).toBe('City: Rome')
    expect(await settled('fail')).toMatchObject({ isError: true })
  })

  it('cancels a task', async () => {
    const served = await serve(agent)
    const session = await taskSession(served)
    const execution = await session.callTool('default', { message: 'hold' })
    const [task] = served.tasks.listTasks()
    expect(task?.state).toBe('working')
    await execution.cancel()
    await expect(served.tasks.waitFor(task?.id ?? '')).resolves.toMatchObject({ state: 'canceled' })
  })
})

describeWith('@modelcontextprotocol/sdk', () => {
  it('1.x calls as a task of 2025-11-25: created, asked, ended, listed, canceled', async () => {
    const served = await serve(agent)
    const { client } = await hostV1(served, answer)
    const { tasks } = (client as ClientV1).experimental
    // It learns from the list which tools can be tasks.
    await client.listTools()
    const told = async (message: string): Promise<readonly [types: string[], last: Json]> => {
      const types: string[] = []
      let last: Json = {}
      const given = { name: 'default', arguments: { message } }
      for await (const each of tasks.callToolStream(given, undefined, { task: {} })) {
        if (types.at(-1) !== each['type']) types.push(String(each['type']))
        last = each
      }
      return [types, (last['result'] ?? last['error']) as Json]
    }
    const [types, booked] = await told('book')
    expect(types).toEqual(['taskCreated', 'taskStatus', 'result'])
    expect(textOf(booked)).toBe('{"day":"Mon","seats":2,"extras":["wifi"]}')
    expect(textOf((await told('Hi'))[1])).toBe('You said: Hi')
    expect((await told('fail'))[0].at(-1)).toBe('error')
    const listed = await tasks.listTasks()
    expect(listed.tasks).toHaveLength(3)
    const holding = told('hold')
    let taskId: unknown
    const find = async (): Promise<unknown> => {
      const { tasks: all } = await tasks.listTasks()
      taskId = all.find(({ status }) => status === 'working')?.['taskId']
      return taskId
    }
    await expect.poll(find).toEqual(expect.any(String))
    await tasks.cancelTask(taskId as string)
    expect((await holding)[0].at(-1)).toBe('error')
    expect(await tasks.getTask(taskId as string)).toMatchObject({ status: 'cancelled' })
  })
})

describeWith('@modelcontextprotocol/ext-tasks', () => {
  it('follows tasks of 2025-11-25 too', async () => {
    const served = await serve(agent)
    const session = await sessionTasks(served, answer)
    const settled = async (message: string): Promise<Json> => {
      const execution = await session.callTool('default', { message })
      const { outcome } = await execution.settle()
      return session.resultOf(outcome)
    }
    expect(textOf(await settled('Hi'))).toBe('You said: Hi')
    await expect(settled('fail')).rejects.toThrow('No flights')
    const execution = await session.callTool('default', { message: 'hold' })
    const task = served.tasks.listTasks().find(({ state }) => state === 'working')
    await execution.cancel()
    await expect(served.tasks.waitFor(task?.id ?? '')).resolves.toMatchObject({ state: 'canceled' })
  })
})
