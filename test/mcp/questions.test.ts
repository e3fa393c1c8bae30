/** Questions of an agent: as requests for the user of each kind of client, or as a result that a model answers. */
import { describe, expect, it } from 'vitest'
import * as z from 'zod'
import { createMcpHandler } from 'a2a-tasks/mcp'
import { DurableTaskManager, memoryStore } from 'a2a-tasks/durable'
import { createRequestHandler, type Execute, type RequestHandler } from 'a2a-tasks/server'
import { ManualClock } from 'a2a-tasks/testing'
import {
  messagesIn,
  requestOf,
  sceneOf,
  statelessRequest,
  textIn,
  type Declared,
  type Json,
  type Reply,
} from './kit.js'

const FORM = { elicitation: {} }
const BOTH = { elicitation: { form: {}, url: {} } }
const BOOKING = z.object({
  day: z.enum(['Mon', 'Tue']).describe('The day'),
  seats: z.int().min(1).max(9),
  email: z.email().optional(),
  window: z.boolean().optional(),
  extras: z
    .array(z.enum(['wifi', 'desk']))
    .max(2)
    .optional(),
  notes: z.array(z.string()).optional(),
  fare: z.union([z.literal(1).meta({ title: 'Cheap' }), z.literal(2).meta({ title: 'Fast' })]).optional(),
})

const book: Execute = async (run) => {
  const booking = await run.requireInput('When?', { schema: BOOKING })
  return JSON.stringify(booking)
}
const approve: Execute = async (run) => run.approve('pay', { message: 'Pay 5 €?' })
const authorize: Execute = async (run) => {
  const value = await run.authorize<string>('drive', {
    message: 'Open the drive',
    url: 'https://login.example/x',
  })
  return `Authorized by ${value}`
}
const inWords: Execute = async (run) => {
  const { parts } = await run.requireInput('Which city?')
  return `City: ${parts[0]?.text ?? ''}`
}

type Requests = Readonly<Record<string, { readonly method: string; readonly params: Json }>>

const QUESTIONS = 'https://a2a-tasks.dev/extensions/questions/v1'

function sceneFor(execute: Execute) {
  const scene = sceneOf(execute)
  const begin = (declared: Declared): Promise<Reply> => scene.say('Go', declared)
  /** Repeats the call with answers, as a client without sessions does. */
  const answer = ({ result }: Reply, inputResponses: object, declared: Declared = BOTH): Promise<Reply> =>
    scene.ask(
      'tools/call',
      { name: 'default', arguments: { message: 'Go' }, requestState: result['requestState'], inputResponses },
      declared,
    )
  return { ...scene, begin, answer }
}

function requestsIn({ result }: Reply): Requests {
  return result['inputRequests'] as Requests
}

/** The ids of the questions. */
function keysOf(reply: Reply): string[] {
  return Object.keys(requestsIn(reply))
}

function accepted(content?: object): object {
  return { action: 'accept', ...(content && { content }) }
}

describe('a client without sessions', () => {
  it('gets a form with the fields that forms can have, and answers by its id', async () => {
    const { begin, answer } = sceneFor(book)
    const asked = await begin(FORM)
    expect(asked.result).toMatchObject({
      resultType: 'input_required',
      requestState: expect.stringMatching(/./) as unknown,
    })
    const [key = ''] = keysOf(asked)
    expect(requestsIn(asked)[key]).toEqual({
      method: 'elicitation/create',
      params: {
        mode: 'form',
        message: 'When?',
        requestedSchema: {
          type: 'object',
          properties: {
            day: { type: 'string', description: 'The day', enum: ['Mon', 'Tue'] },
            seats: { type: 'integer', minimum: 1, maximum: 9 },
            email: { type: 'string', format: 'email' },
            window: { type: 'boolean' },
            extras: { type: 'array', items: { type: 'string', enum: ['wifi', 'desk'] }, maxItems: 2 },
            notes: { type: 'string', description: 'As JSON' },
            fare: {
              type: 'string',
              oneOf: [
                { const: '1', title: 'Cheap' },
                { const: '2', title: 'Fast' },
              ],
            },
          },
          required: ['day', 'seats'],
        },
      },
    })
    const content = { day: 'Mon', seats: 2, extras: ['wifi'], notes: '["x"]', fare: '2' }
    const done = await answer(asked, { [key]: accepted(content) })
    expect(textIn(done.result)).toBe('{"day":"Mon","seats":2,"extras":["wifi"],"notes":["x"],"fare":2}')
  })

  it('gets forms whose size does not grow with the references of their schema', async () => {
    const properties = Object.fromEntries(
      Array.from({ length: 100 }, (_, index) => [`field${index}`, { $ref: '#/$defs/large' }]),
    )
    for (const large of [
      { type: 'string', default: 'x'.repeat(100_000) },
      { type: 'string', default: 'x'.repeat(1_000) },
      { type: 'string', default: { x: 'x'.repeat(100_000) }, maxLength: 'x'.repeat(100_000) },
      { enum: ['a', 'b'], enumNames: ['x'.repeat(50_000), 'y'.repeat(50_000)] },
      { enum: ['x'.repeat(100_000)] },
      { type: 'array', items: { enum: ['a'] }, default: ['x'.repeat(100_000)] },
    ]) {
      const schema = { type: 'object', properties, $defs: { large } }
      const questions = [{ id: 'q', message: 'Fill in', schema }]
      const { begin } = sceneFor(async (run) => {
        await run.requireInput({ parts: [{ data: { [QUESTIONS]: { questions } } }] })
        return 'Done'
      })
      const { result } = await begin(FORM)
      const { length } = JSON.stringify(result)
      expect(length).toBeLessThan(2 * JSON.stringify(schema).length + 20_000)
    }
  })

  it('answers a form that is too large as JSON', async () => {
    const properties = Object.fromEntries(
      Array.from({ length: 60 }, (_, index) => [`field${index}`, { $ref: '#/$defs/large' }]),
    )
    const $defs = { large: { type: 'string', default: 'x'.repeat(1_000) } }
    const questions = [{ id: 'q', message: 'Fill in', schema: { type: 'object', properties, $defs } }]
    const { begin, answer } = sceneFor(async (run) => {
      const { parts } = await run.requireInput({ parts: [{ data: { [QUESTIONS]: { questions } } }] })
      return JSON.stringify(parts)
    })
    const asked = await begin(FORM)
    expect(requestsIn(asked)['q']?.params['requestedSchema']).toEqual({
      type: 'object',
      properties: { value: { type: 'string', description: 'As JSON' } },
      required: ['value'],
    })
    const done = await answer(asked, { q: accepted({ value: '{"field1":"Rome"}' }) }, FORM)
    expect(textIn(done.result)).toContain('{"field1":"Rome"}')
  })

  it('gets plain values that fields begin with', async () => {
    const { begin } = sceneFor(async (run) => {
      const schema = z.object({ city: z.string().min(2).default('Rome'), days: z.int().default(3) })
      return JSON.stringify(await run.requireInput('Where?', { schema }))
    })
    const asked = await begin(FORM)
    const [key = ''] = keysOf(asked)
    expect(requestsIn(asked)[key]?.params).toMatchObject({
      requestedSchema: {
        properties: {
          city: { type: 'string', minLength: 2, default: 'Rome' },
          days: { type: 'integer', default: 3 },
        },
      },
    })
  })

  it('is told what does not fit, and asked again for what is missing', async () => {
    const { begin, answer } = sceneFor(book)
    const asked = await begin(FORM)
    const [key = ''] = keysOf(asked)
    const wrong = await answer(asked, { [key]: accepted({ day: 'Mon', seats: 'two' }) }, FORM)
    expect(wrong.last['error']).toMatchObject({
      code: -32602,
      message: `inputResponses.${key}.content.seats must be a whole number`,
    })
    for (const responses of [{}, { other: accepted({}) }, { [key]: null }])
      expect((await answer(asked, responses, FORM)).result).toEqual(asked.result)
    expect((await answer(asked, { [key]: accepted({ day: 'Tue', seats: 1 }) }, FORM)).result).toMatchObject({
      isError: false,
    })
  })

  it('answers an approval, of which no is an answer', async () => {
    for (const [response, verdict] of [
      [accepted({ value: 'approve' }), 'approve'],
      [{ action: 'decline' }, 'reject'],
      [{ action: 'cancel' }, 'reject'],
    ] as const) {
      const { begin, answer } = sceneFor(approve)
      const asked = await begin(FORM)
      const [key = ''] = keysOf(asked)
      expect(requestsIn(asked)[key]?.params).toMatchObject({
        requestedSchema: {
          properties: { value: { type: 'string', enum: ['approve', 'reject'] } },
          required: ['value'],
        },
      })
      expect(textIn((await answer(asked, { [key]: response })).result)).toBe(verdict)
    }
  })

  it.each(['decline', 'cancel'])('ends the task with a %s of any other question', async (action) => {
    const { begin, answer, tasks } = sceneFor(book)
    const asked = await begin(FORM)
    const [key = ''] = keysOf(asked)
    expect((await answer(asked, { [key]: { action } })).result).toMatchObject({ isError: true })
    expect(tasks.listTasks()).toMatchObject([{ state: 'canceled' }])
  })

  it('answers a question in words', async () => {
    const { begin, answer } = sceneFor(inWords)
    const asked = await begin(FORM)
    const [key = ''] = keysOf(asked)
    expect(requestsIn(asked)[key]?.params).toMatchObject({ message: 'Which city?' })
    expect(textIn((await answer(asked, { [key]: accepted({ answer: 'Rome' }) })).result)).toBe('City: Rome')
  })

  it('answers several questions one by one', async () => {
    const { begin, answer } = sceneFor(async (run) => {
      const answers = await run.ask({
        city: { message: 'Which city?', schema: z.string() },
        days: { message: 'How many days?', schema: z.number() },
      })
      return JSON.stringify(answers)
    })
    const asked = await begin(FORM)
    const [city = '', days = ''] = keysOf(asked)
    const again = await answer(asked, { [city]: accepted({ value: 'Rome' }) })
    expect(keysOf(again)).toEqual([days])
    expect(textIn((await answer(again, { [days]: accepted({ value: 3 }) })).result)).toBe(
      '{"city":"Rome","days":3}',
    )
  })

  it('sends its user to an address, and gets the result when the agent has its signal', async () => {
    const { begin, tasks, mcp } = sceneFor(authorize)
    const asked = await begin(BOTH)
    const [key = ''] = keysOf(asked)
    expect(requestsIn(asked)[key]?.params).toEqual({
      mode: 'url',
      message: 'Open the drive',
      url: 'https://login.example/x',
    })
    const taskId = String(asked.result['requestState'])
    const params = { name: 'default', requestState: taskId, inputResponses: { [key]: accepted() } }
    const answered = mcp(statelessRequest(2, 'tools/call', params, BOTH))
    tasks.signal(taskId, 'drive', 'ann')
    const response = await answered
    expect(await response.json()).toMatchObject({ result: { content: [{ text: 'Authorized by ann' }] } })
  })

  it('declines an authorization', async () => {
    const { begin, answer } = sceneFor(async (run) => {
      await run.authorize('drive', { message: 'Open', url: 'https://login.example/x' }).catch(() => undefined)
      return 'Without the drive'
    })
    const asked = await begin(BOTH)
    const [key = ''] = keysOf(asked)
    expect(textIn((await answer(asked, { [key]: { action: 'decline' } })).result)).toBe('Without the drive')
  })

  it('cannot answer by the state of another tool', async () => {
    const skills = ['a', 'b'].map((id) => ({ id, name: id, description: id, tags: ['x'] }))
    const { ask } = sceneOf(book, { card: { skills } })
    const asked = await ask('tools/call', { name: 'a', arguments: { message: 'Go' } }, FORM)
    const params = { name: 'b', requestState: asked.result['requestState'], inputResponses: {} }
    expect((await ask('tools/call', params, FORM)).last['error']).toMatchObject({ code: -32602 })
  })
})

describe('a client that cannot ask its user', () => {
  it.each(['session', 'stateless'])(
    'gets the question as the result, and its model answers: %s',
    async (kind) => {
      const { ask, inSession } = sceneFor(book)
      const call = (given: object): Promise<Reply> =>
        (kind === 'session' ? inSession : ask)('tools/call', { name: 'default', arguments: given })
      const asked = await call({ message: 'Go' })
      const [, taskId = ''] =
        /^When\?\n\nTo answer, call this tool again with "taskId": "(.+)" and/.exec(textIn(asked.result)) ??
        []
      const done = await call({ taskId, message: '{"day":"Mon","seats":2}' })
      expect(textIn(done.result)).toBe('{"day":"Mon","seats":2}')
      expect((await call({ taskId, message: 'Late' })).result).toMatchObject({ isError: true })
      for (const unknown of ['x', '1/x/y'])
        expect((await call({ taskId: unknown, message: 'To nothing' })).result).toMatchObject({
          isError: true,
          content: [{ text: expect.stringContaining('Task not found') as unknown }],
        })
    },
  )

  it('answers by its model the question that the result has shown, and no other one', async () => {
    const { ask, tasks } = sceneFor(async (run) => {
      const name = await run.requireInput('Your name?')
      const file = await run.requireInput('Which file to delete?')
      return `${name.parts[0]?.text ?? ''} deletes ${file.parts[0]?.text ?? ''}`
    })
    const call = async (given: object): Promise<Json> =>
      (await ask('tools/call', { name: 'default', arguments: given })).result
    const idIn = (result: Json): string => /"taskId": "(.+)" and/.exec(textIn(result))?.[1] ?? ''
    const first = idIn(await call({ message: 'Go' }))
    const [one, other] = await Promise.all(['Ann', 'Bob'].map((message) => call({ taskId: first, message })))
    const [task] = tasks.listTasks()
    expect(task).toMatchObject({ state: 'input-required', messages: { length: 4 } })
    expect([one, other].filter((result) => result?.['isError'] === true)).toHaveLength(1)
    const name = task?.messages[2]?.parts[0]?.text ?? ''
    // The answer again has its outcome, and another one comes late.
    const second = await call({ taskId: first, message: name })
    expect(textIn(second)).toContain('Which file to delete?')
    expect(await call({ taskId: first, message: 'Eve' })).toMatchObject({ isError: true })
    expect(textIn(await call({ taskId: idIn(second), message: 'a.txt' }))).toBe(`${name} deletes a.txt`)
  })

  it('is asked again, and answers again, where the words do not fit', async () => {
    const { ask } = sceneFor(book)
    const call = async (given: object): Promise<Json> =>
      (await ask('tools/call', { name: 'default', arguments: given })).result
    const idIn = (result: Json): string => /"taskId": "(.+)" and/.exec(textIn(result))?.[1] ?? ''
    const asked = await call({ message: 'Go' })
    const again = await call({ taskId: idIn(asked), message: '{"day":"Sun"}' })
    expect(textIn(again)).toContain('day')
    const done = await call({ taskId: idIn(again), message: '{"day":"Mon","seats":2}' })
    expect(textIn(done)).toBe('{"day":"Mon","seats":2}')
  })

  it('gets an address as text', async () => {
    const { begin } = sceneFor(authorize)
    expect(textIn((await begin(FORM)).result)).toContain('https://login.example/x')
  })
})

describe('a client with a session', () => {
  const PARAMS = { name: 'default', arguments: { message: 'Go' } }

  /** A call whose stream has begun with a request for the user. */
  async function openCall(execute: Execute, capabilities: object) {
    const clock = new ManualClock()
    const scene = sceneOf(execute, { clock })
    const { headers } = await scene.inSession('initialize', { protocolVersion: '2025-11-25', capabilities })
    const session = { 'mcp-session-id': headers.get('mcp-session-id') }
    const response = await scene.mcp(
      requestOf({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: PARAMS }, session),
    )
    const reader = (response.body as ReadableStream<Uint8Array>).getReader()
    let text = ''
    const next = async (): Promise<Json> => {
      for (;;) {
        const end = text.indexOf('\n\n')
        if (end >= 0) {
          const [message] = messagesIn(text.slice(0, end + 2))
          text = text.slice(end + 2)
          if (message !== undefined) return message
        } else {
          const { value } = await reader.read()
          text += new TextDecoder().decode(value)
        }
      }
    }
    const respond = (id: unknown, answer: object): Promise<Reply> =>
      scene.send(requestOf({ jsonrpc: '2.0', id, ...answer }, session))
    return { ...scene, next, respond, session }
  }

  it('is asked on the stream of its call, and answers with a request of its own', async () => {
    const { next, respond } = await openCall(book, BOTH)
    const asked = await next()
    expect(asked).toMatchObject({ method: 'elicitation/create', params: { mode: 'form', message: 'When?' } })
    const { status } = await respond(asked['id'], { result: accepted({ day: 'Mon', seats: 2 }) })
    expect(status).toBe(202)
    expect(await next()).toMatchObject({ id: 1, result: { content: [{ text: '{"day":"Mon","seats":2}' }] } })
    // It comes late, and has no effect.
    expect((await respond(asked['id'], { result: accepted({ day: 'Tue', seats: 1 }) })).status).toBe(202)
  })

  it('is asked again when its answer does not fit', async () => {
    const { next, respond, tasks } = await openCall(approve, BOTH)
    const first = await next()
    await respond(first['id'], { result: accepted({ value: 'maybe' }) })
    const second = await next()
    expect(second['id']).not.toBe(first['id'])
    expect(second).toMatchObject({ method: 'elicitation/create', params: { mode: 'form' } })
    // The second question is open: an answer to the first request is as good.
    expect(tasks.listTasks()).toMatchObject([{ state: 'input-required' }])
    await respond(second['id'], { result: accepted({ value: 'approve' }) })
    expect(await next()).toMatchObject({ id: 1, result: { content: [{ text: 'approve' }] } })
  })

  it('may answer at another process', async () => {
    const { next, handler } = await openCall(book, BOTH)
    const asked = await next()
    const other = otherProcess(handler)
    const body = { jsonrpc: '2.0', id: asked['id'], result: accepted({ day: 'Mon', seats: 2 }) }
    expect((await other(requestOf(body))).status).toBe(202)
    expect(await next()).toMatchObject({ id: 1, result: { isError: false } })
  })

  it('is sent to an address, with the id that its version demands', async () => {
    const { next, tasks } = await openCall(authorize, BOTH)
    const { params } = await next()
    expect(params).toMatchObject({
      mode: 'url',
      url: 'https://login.example/x',
      elicitationId: expect.stringMatching(/./) as unknown,
    })
    const [task] = tasks.listTasks()
    tasks.signal(task?.id ?? '', 'drive', 'ann')
    expect(await next()).toMatchObject({ id: 1, result: { content: [{ text: 'Authorized by ann' }] } })
  })

  it('has not answered when its handler fails', async () => {
    const { next, respond } = await openCall(book, BOTH)
    const asked = await next()
    await respond(asked['id'], { error: { code: -1, message: 'No' } })
    expect(await next()).toMatchObject({ id: 1, result: { isError: true } })
  })

  it.each(['x', 'x/y', 1, '1/x', '1/x/y', '9999/x/y'])(
    'cannot answer what nobody has asked: %j',
    async (id) => {
      const { send } = sceneFor(book)
      const { status } = await send(requestOf({ jsonrpc: '2.0', id, result: accepted({}) }))
      expect([202, 400]).toContain(status)
    },
  )
})

describe('an answer that arrives twice at once', () => {
  const twice: Execute = async (run) => {
    const name = await run.requireInput('Your name?')
    const file = await run.requireInput('Delete which file?')
    return `${name.parts[0]?.text} deletes ${file.parts[0]?.text}`
  }
  const twiceById: Execute = async (run) => {
    const name = await run.requireInput('Your name?', { schema: z.string() })
    const file = await run.requireInput('Delete which file?', { schema: z.string() })
    return `${name} deletes ${file}`
  }
  const FOLLOWED = { tasks: true, ...FORM }

  /** How a client answers, with one text or with another. */
  type Ways = Record<'update' | 'response' | 'repeated call', (mcp: Serve, asked: Asked) => Promise<Response>>
  type Serve = (request: Request) => Promise<Response>
  interface Asked {
    readonly taskId: string
    readonly key: string
    readonly content: object
  }
  const responsesTo = ({ key, content }: Asked): object => ({ [key]: accepted(content) })
  const WAYS: Ways = {
    update: (mcp, asked) => {
      const params = { taskId: asked.taskId, inputResponses: responsesTo(asked) }
      return mcp(statelessRequest(5, 'tasks/update', params, FOLLOWED))
    },
    response: (mcp, { taskId, key, content }) =>
      mcp(requestOf({ jsonrpc: '2.0', id: `${taskId.length}/${taskId}/${key}`, result: accepted(content) })),
    'repeated call': (mcp, asked) => {
      const params = { name: 'default', requestState: asked.taskId, inputResponses: responsesTo(asked) }
      return mcp(statelessRequest(6, 'tools/call', params, FORM))
    },
  }
  const ways = Object.keys(WAYS) as (keyof Ways)[]
  /** Both texts are one, or differ. */
  const PAIRS = [
    ['Ann', 'Ann'],
    ['Ann', 'Bob'],
  ]

  it.each(ways)('is taken once: %s', async (way) => {
    for (const [execute, field] of [
      [twice, 'answer'],
      [twiceById, 'value'],
    ] as const)
      for (const texts of PAIRS) {
        const { begin, mcp, ask, tasks } = sceneFor(execute)
        const asked = await begin(FORM)
        const taskId = String(asked.result['requestState'])
        const [key = ''] = keysOf(asked)
        const replies = await Promise.all(
          texts.map((text) => WAYS[way](mcp, { taskId, key, content: { [field]: text } })),
        )
        const bodies = await Promise.all(replies.map(async (reply) => await reply.text()))
        expect([replies.map(({ ok }) => ok), bodies.join()]).toEqual([
          [true, true],
          expect.not.stringMatching(/"error"|isError/),
        ])
        await expect
          .poll(() => JSON.stringify(tasks.getTask(taskId)?.message))
          .toContain('Delete which file?')
        const { result } = await ask('tasks/get', { taskId }, FOLLOWED)
        expect(result).toMatchObject({ status: 'input_required' })
        expect(JSON.stringify(result['inputRequests'])).toContain('Delete which file?')
        const said = tasks.getTask(taskId)?.messages.filter(({ role }) => role === 'user')
        expect(said).toHaveLength(2)
      }
  })

  it('does not begin a second turn', async () => {
    let runs = 0
    const { begin, mcp, tasks } = sceneFor(async (run) => {
      runs += 1
      await run.requireInput('Your name?')
      return 'Done'
    })
    const asked = await begin(FORM)
    const taskId = String(asked.result['requestState'])
    const [key = ''] = keysOf(asked)
    const send = (): Promise<Response> => WAYS.update(mcp, { taskId, key, content: { answer: 'Ann' } })
    await Promise.all([send(), send(), send()])
    await tasks.waitFor(taskId)
    expect(runs).toBe(1)
  })

  it('is taken once, by one of two replicas', async () => {
    const store = memoryStore()
    const replicas = [0, 1].map(() => {
      const tasks = new DurableTaskManager({ store })
      const card = { name: 'Agent', url: 'https://agent.test' }
      const handler = createRequestHandler({ anonymous: 'shared', card, tasks, execute: twice })
      return { tasks, handler, mcp: createMcpHandler(handler) }
    })
    const [first] = replicas
    const params = { name: 'default', arguments: { message: 'Go' } }
    const response = await first?.mcp(statelessRequest(1, 'tools/call', params, FORM))
    const { result } = (await response?.json()) as { readonly result: Json }
    const taskId = String(result['requestState'])
    const [key = ''] = Object.keys(result['inputRequests'] as Json)
    const asked = { taskId, key, content: { answer: 'Ann' } }
    const replies = await Promise.all(replicas.map(({ mcp }) => WAYS.update(mcp, asked)))
    expect(replies.map(({ status }) => status)).toEqual([200, 200])
    await expect
      .poll(async () => JSON.stringify((await first?.tasks.getTask(taskId))?.message))
      .toContain('Delete which file?')
    const task = await first?.tasks.getTask(taskId)
    expect(task?.messages.filter(({ role }) => role === 'user')).toHaveLength(2)
    for (const { handler } of replicas) await handler.close()
  })
})

describe('a question that another user answers', () => {
  const FOLLOWED = { tasks: true, ...FORM }
  const execute: Execute = async (run) => {
    const verdict = await run.approve('pay', { message: 'Pay 5 €?', answeredBy: ['boss'] })
    return `${verdict} by the boss`
  }

  function sceneOfTwo() {
    const clock = new ManualClock()
    const authenticate = (request: Request): { id: string } => ({
      id: request.headers.get('authorization') ?? '',
    })
    const scene = sceneOf(execute, { clock, handler: { authenticate, anonymous: undefined } })
    const as = async (user: string, request: Request): Promise<Reply> => {
      request.headers.set('authorization', user)
      return await scene.send(request)
    }
    const ask = (user: string, method: string, params: object): Promise<Reply> =>
      as(user, statelessRequest(1, method, params, FOLLOWED))
    return { ...scene, clock, as, ask }
  }
  const CALL = { name: 'default', arguments: { message: 'Go' } }

  it('is a status for the owner, who cannot answer it or give it up', async () => {
    const { ask, clock, tasks } = sceneOfTwo()
    const calling = ask('ann', 'tools/call', CALL)
    await expect.poll(() => tasks.listTasks()[0]?.state).toBe('input-required')
    clock.advance(1_000)
    const { result } = await calling
    expect(result).toMatchObject({ resultType: 'task', status: 'working' })
    const taskId = String(result['taskId'])
    const read = await ask('ann', 'tasks/get', { taskId })
    expect(read.result).toMatchObject({
      status: 'working',
      statusMessage: expect.stringContaining('Pay 5 €?') as unknown,
    })
    expect(read.result).not.toHaveProperty('inputRequests')
    const { result: asked } = await ask('boss', 'tasks/get', { taskId })
    const [key = ''] = Object.keys(asked['inputRequests'] as Json)
    for (const response of [{ action: 'decline' }, { action: 'cancel' }, accepted({ value: 'approve' })]) {
      const params = { taskId, inputResponses: { [key]: response } }
      expect((await ask('ann', 'tasks/update', params)).last).toMatchObject({ result: {} })
    }
    expect(tasks.getTask(taskId)?.state).toBe('input-required')
    const inputResponses = { [key]: accepted({ value: 'approve' }) }
    await ask('boss', 'tasks/update', { taskId, inputResponses })
    await tasks.waitFor(taskId)
    const done = await ask('ann', 'tasks/get', { taskId })
    expect(textIn(done.result['result'] as Json)).toBe('approve by the boss')
  })

  it.each(['session', 'stateless'])('lets the call of its owner wait: %s', async (kind) => {
    const { ask, as, tasks } = sceneOfTwo()
    const capabilities = { elicitation: {} }
    const initialize = { jsonrpc: '2.0', id: 1, method: 'initialize', params: { capabilities } }
    const { headers } = await as('ann', requestOf(initialize))
    const session = { 'mcp-session-id': headers.get('mcp-session-id') }
    const calling = as(
      'ann',
      kind === 'session'
        ? requestOf({ jsonrpc: '2.0', id: 2, method: 'tools/call', params: CALL }, session)
        : statelessRequest(2, 'tools/call', CALL, FORM),
    )
    await expect.poll(() => tasks.listTasks()[0]?.state).toBe('input-required')
    const taskId = tasks.listTasks()[0]?.id ?? ''
    const { result: asked } = await ask('boss', 'tasks/get', { taskId })
    const [key = ''] = Object.keys(asked['inputRequests'] as Json)
    await ask('boss', 'tasks/update', { taskId, inputResponses: { [key]: { action: 'decline' } } })
    const { messages, result } = await calling
    expect([messages.length, textIn(result)]).toEqual([1, 'reject by the boss'])
  })
})

function otherProcess(handler: RequestHandler): (request: Request) => Promise<Response> {
  return createMcpHandler(handler)
}

describe('a question for others than the owner', () => {
  const scene = async (answeredBy = ['boss']) => {
    const { send, tasks } = sceneOf(
      async (run) => {
        const amount = await run.requireInput('Amount?', { schema: z.number(), answeredBy })
        return `Amount: ${amount}`
      },
      {
        handler: {
          anonymous: undefined,
          authenticate: ({ headers }: Request) => ({ id: headers.get('authorization') ?? '' }),
        } as object,
      },
    )
    const by = (who: string, method: string, params: object, tasksToo = true): Promise<Reply> => {
      const request = statelessRequest(1, method, params, { ...BOTH, tasks: tasksToo })
      request.headers.set('authorization', who)
      return send(request)
    }
    const call = { name: 'default', arguments: { message: 'Go' } }
    const { result } = await by('ann', 'tools/call', call)
    return { by, tasks, taskId: String(result['taskId']) }
  }

  it('is the status for him, and no answer of his changes the task', async () => {
    const { by, taskId, tasks } = await scene()
    const shown = (await by('ann', 'tasks/get', { taskId })).result
    expect(shown).toMatchObject({ status: 'working', statusMessage: 'Amount?' })
    expect(shown).not.toHaveProperty('inputRequests')
    const { result } = await by('boss', 'tasks/get', { taskId })
    const [key = ''] = Object.keys(result['inputRequests'] as Json)
    for (const response of [accepted({ value: 1 }), { action: 'decline' }, { action: 'cancel' }])
      expect(
        (await by('ann', 'tasks/update', { taskId, inputResponses: { [key]: response } })).last,
      ).toHaveProperty('result')
    expect(tasks.getTask(taskId)?.state).toBe('input-required')
  })

  it.each([
    ['boss', ['boss']],
    ['ann', ['boss', 'ann']],
  ])('is a form for those whom it names: %s', async (who, answeredBy) => {
    const { by, taskId, tasks } = await scene(answeredBy)
    const { result } = await by(who, 'tasks/get', { taskId })
    const [key = ''] = Object.keys(result['inputRequests'] as Json)
    await by(who, 'tasks/update', { taskId, inputResponses: { [key]: accepted({ value: 7 }) } })
    await tasks.waitFor(taskId)
    expect((await by('ann', 'tasks/get', { taskId })).result).toMatchObject({
      result: { content: [{ text: 'Amount: 7' }] },
    })
  })
})
