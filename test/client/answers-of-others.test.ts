/** A question that others answer, over HTTP: what the owner of the task sees of it in each front end, and how it goes on for him. */
import { createAgUiHandler } from 'a2a-tasks/ag-ui'
import { a2aChatTransport, type ChatChunk, type ChatMessage } from 'a2a-tasks/chat'
import { A2AClient, answerPart, awaitedOthersOf, openQuestionsOf, type RunOptions } from 'a2a-tasks/client'
import { createRequestHandler, textOf, type Execute, type RequestHandler } from 'a2a-tasks/server'
import { toNodeListener } from 'a2a-tasks/server/node'
import { describe, expect, test } from 'vitest'
import { run as runProgram } from '../command-line/support/program.js'
import { listen } from '../conformance/support/listen.js'

const QUESTION = 'Pay 42 €?'
const askBoss: Execute = async (run) =>
  `The boss says ${await run.approve('pay', { message: QUESTION, answeredBy: ['boss', 'deputy'] })}`
const askEither: Execute = async (run) =>
  `One says ${await run.approve('pay', { message: QUESTION, answeredBy: ['boss', 'ann'] })}`

async function sceneOf(execute: Execute, { streaming = true } = {}) {
  let handler: RequestHandler | undefined
  const url = await listen((own) => {
    handler = createRequestHandler({
      card: { name: 'Expenses', url: own, capabilities: { streaming } },
      authenticate: ({ headers }) => ({ id: headers.get('authorization') ?? 'nobody' }),
      execute,
    })
    return toNodeListener(handler.fetch)
  })
  const as = (user: string): Promise<A2AClient> =>
    A2AClient.connect(url, { headers: { authorization: user } })
  const tasks = handler?.tasks
  if (tasks === undefined) throw new Error('There is no agent')
  /** The id of the task, when it asks. */
  const asked = async (): Promise<string> => {
    await expect.poll(() => tasks.listTasks()[0]?.state).toBe('input-required')
    return tasks.listTasks()[0]?.id ?? ''
  }
  /** Answers by the id of the task, as a user does who has got it in a mail. */
  const answer = async (user: string, taskId: string): Promise<string> => {
    const client = await as(user)
    const task = await client.getTask(taskId)
    expect(awaitedOthersOf(task)).toBeUndefined()
    const [question] = openQuestionsOf(task)
    return (await client.run({ taskId, parts: [answerPart({ [question?.id ?? '']: 'approve' })] })).text
  }
  return { url, as, asked, answer, tasks }
}

const RECEIVED = 'The answer has been received'
/** What asks the owner, which no question for others may call. */
const NEVER: RunOptions = {
  onQuestions: () => expect.fail('asks for values'),
  onInputRequired: () => expect.fail('asks for words'),
}

describe.each([true, false])('client.run, with streams: %s', (streaming) => {
  test('follows the task until another user has answered, and says for whom it waits', async () => {
    const { as, asked, answer } = await sceneOf(askBoss, { streaming })
    const waits = new Set<string>()
    const ann = await as('ann')
    const running = ann.run('Lunch', {
      ...NEVER,
      pollIntervalMs: 10,
      onUpdate: ({ task }) => waits.add(awaitedOthersOf(task)?.join() ?? '-'),
    })
    expect(await answer('boss', await asked())).toBe(RECEIVED)
    expect(await running).toMatchObject({ type: 'completed', text: 'The boss says approve' })
    expect(waits).toEqual(new Set(['-', 'boss,deputy']))
  })

  test('asks the owner who is among those who may answer', async () => {
    const { as } = await sceneOf(askEither, { streaming })
    const { text } = await (
      await as('ann')
    ).run('Lunch', {
      pollIntervalMs: 10,
      onQuestions: ([question]) => {
        expect(question?.answeredBy).toEqual(['boss', 'ann'])
        return { pay: 'approve' }
      },
    })
    expect(text).toBe('One says approve')
  })
})

test('an owner who is named gets the question as a result, and another one who is named answers it', async () => {
  const { as, answer } = await sceneOf(askEither)
  const ann = await as('ann')
  const result = await ann.run('Lunch')
  if (result.type !== 'input-required') throw new Error(result.type)
  expect(awaitedOthersOf(result.task)).toBeUndefined()
  expect(await answer('boss', result.task.id)).toBe(RECEIVED)
  expect((await ann.resume(result.handle)).text).toBe('One says approve')
})

test('a question for the owner after one for others is asked', async () => {
  const { as, asked, answer } = await sceneOf(async (run) => {
    const verdict = await run.approve('pay', { message: QUESTION, answeredBy: ['boss'] })
    return `${verdict}, ${textOf(await run.requireInput('By card?'))}`
  })
  const running = (await as('ann')).run('Lunch', { onInputRequired: () => 'in cash' })
  await answer('boss', await asked())
  expect((await running).text).toBe('approve, in cash')
})

describe('a chat of AI SDK', () => {
  function chatOf(client: A2AClient) {
    const transport = a2aChatTransport(client)
    const read = async (stream: ReadableStream<ChatChunk> | null): Promise<ChatChunk[]> => {
      const chunks: ChatChunk[] = []
      const reader = stream?.getReader()
      for (let next = await reader?.read(); next?.done === false; next = await reader?.read())
        chunks.push(next.value)
      return chunks
    }
    const send = async (...messages: ChatMessage[]): Promise<ChatChunk[]> =>
      read(
        await transport.sendMessages({
          ...{ trigger: 'submit-message', chatId: 'chat-1', messageId: undefined, messages },
        }),
      )
    const resume = async (): Promise<ChatChunk[]> =>
      read(await transport.reconnectToStream({ chatId: 'chat-1' }))
    return { send, resume }
  }
  const said = (id: string): ChatMessage => {
    const parts = [{ type: 'text', text: id }]
    return { id, role: 'user', parts }
  }
  const shownIn = (chunks: readonly ChatChunk[]) => {
    const told = chunks.flatMap((chunk) => ('messageMetadata' in chunk ? [chunk.messageMetadata.a2a] : []))
    return {
      told,
      ids: chunks.flatMap((chunk) => (chunk.type === 'start' ? [chunk.messageId] : [])),
      text: chunks.map((chunk) => (chunk.type === 'text-delta' ? chunk.delta : '')).join(''),
      asked: chunks.filter(({ type }) => /question|approval|tool|error/.test(type)),
    }
  }
  const WAITS = { state: 'working', waitsFor: ['boss', 'deputy'], text: `${QUESTION} (approve / reject)` }

  test('shows for whom the agent works, and goes on', async () => {
    const { as, asked, answer } = await sceneOf(askBoss)
    const chat = chatOf(await as('ann'))
    const sending = chat.send(said('m1'))
    const taskId = await asked()
    await answer('boss', taskId)
    const { told, text, asked: shown } = shownIn(await sending)
    expect(shown).toEqual([])
    expect(told).toContainEqual(expect.objectContaining({ taskId, ...WAITS }))
    // What it waited for is no longer what it says.
    const after = told.slice(told.findLastIndex((each) => each.waitsFor.length > 0) + 1)
    expect(after.map((each) => [each.waitsFor, each.text])).toEqual(after.map(() => [[], '']))
    expect([told.at(-1)?.state, text]).toEqual(['completed', 'The boss says approve'])
  })

  test('that is opened again shows the same, also after the answer', async () => {
    const { as, asked, answer } = await sceneOf(askBoss)
    const chat = chatOf(await as('ann'))
    const sending = chat.send(said('m1'))
    const taskId = await asked()
    const resuming = chat.resume()
    await answer('boss', taskId)
    await sending
    for (const chunks of [await resuming, await chat.resume()]) {
      const { told, ids, text, asked: shown } = shownIn(chunks)
      expect([shown, ids, text]).toEqual([[], ['m1-reply'], 'The boss says approve'])
      expect(told).toContainEqual(expect.objectContaining(WAITS))
    }
  })

  test('begins another task with what the user says meanwhile', async () => {
    const { as, asked, tasks } = await sceneOf((run) =>
      run.messages[0]?.parts[0]?.text === 'm1' ? askBoss(run) : 'Something else',
    )
    const chat = chatOf(await as('ann'))
    const sending = chat.send(said('m1'))
    const taskId = await asked()
    const contextId = 'chat-1'
    for (const state of ['working', 'input-required']) {
      const metadata = { a2a: { taskId, contextId, state, text: '' } }
      const reply: ChatMessage = { id: 'm1-reply', role: 'assistant', metadata, parts: [] }
      const { text } = shownIn(await chat.send(said('m1'), reply, said(`meanwhile ${state}`)))
      expect(text).toBe('Something else')
    }
    expect(tasks.getTask(taskId)?.state).toBe('input-required')
    tasks.cancelTask(taskId)
    await sending
  })
})

test('a run of AG-UI ends without an interrupt, and shows for whom the agent waits', async () => {
  const { as, asked, answer } = await sceneOf(askBoss)
  const handle = createAgUiHandler(await as('ann'))
  const body = {
    ...{ threadId: 't1', runId: 'r1', state: {}, tools: [], context: [] },
    messages: [{ id: 'u1', role: 'user', content: 'Lunch' }],
  }
  const headers = { 'content-type': 'application/json' }
  const init = { method: 'POST', headers, body: JSON.stringify(body) }
  const running = handle(new Request('https://app.test/ag-ui', init)).then((response) => response.text())
  await answer('boss', await asked())
  const events = await running
  expect(events).toContain('"waitsFor":["boss","deputy"]')
  expect(events).toContain('"outcome":{"type":"success"},"result":"The boss says approve"')
  expect(events).not.toContain('interrupt')
})

test('the terminal says for whom it waits, and ends with the result', async () => {
  const { url, asked, answer } = await sceneOf(askBoss)
  const header = ['--header', 'authorization: ann']
  const running = runProgram(['send', url, 'Lunch', ...header])
  const taskId = await asked()
  const { stdout } = await runProgram(['get', url, taskId, ...header])
  expect(stdout).toContain(`Message  ${QUESTION} (approve / reject) (waits for boss or deputy)`)
  await answer('boss', taskId)
  const { code, stdout: result, stderr } = await running
  expect([code, result]).toEqual([0, 'The boss says approve\n'])
  expect(stderr).toContain(`${QUESTION} (approve / reject) (waits for boss or deputy)\n`)
})
