/** The conversation as messages for a model, whichever framework calls it. */
import { aiSdk, type MessagesOptions } from 'a2a-tasks/ai'
import { A2AClient } from 'a2a-tasks/client'
import type { Execute, Run } from 'a2a-tasks/server'
import { fakeAgent } from 'a2a-tasks/testing'
import { expect, test } from 'vitest'

/** What a model gets for the last of these messages of one conversation. */
async function messagesAfter(turns: readonly Execute[], options: MessagesOptions): Promise<unknown> {
  let seen: unknown
  const last = async (run: Run): Promise<void> => {
    seen = await aiSdk(run).messages(options)
    run.complete()
  }
  const left = [...turns, last]
  const agent = fakeAgent((run) => left.shift()?.(run) as undefined, { onError: () => undefined })
  const client = new A2AClient({ card: agent.card, fetch: agent.fetch })
  for (const [at] of [...left].entries())
    await client.run(`Message ${at + 1}`, { contextId: 'trip', onInputRequired: () => 'Rome' })
  return seen
}

const user = (text: string): object => ({ role: 'user', content: [{ type: 'text', text }] })
const assistant = (text: string): object => ({ role: 'assistant', content: [{ type: 'text', text }] })

test('earlier tasks are there only if asked for', async () => {
  const turns = [() => 'Hello']
  expect(await messagesAfter(turns, {})).toEqual([user('Message 2')])
  expect(await messagesAfter(turns, { earlier: 20 })).toEqual([
    user('Message 1'),
    assistant('Hello'),
    user('Message 2'),
  ])
})

test('the reasons why earlier tasks have failed are no words of the model', async () => {
  const turns: Execute[] = [
    (run) => {
      run.artifact('Let me')
      throw new Error('boom')
    },
    async (run) => {
      await run.requireInput('Where?')
      throw new Error('boom')
    },
    (run) => run.fail('No key'),
    (run) => run.complete('Done'),
    (run) => run.reject('Not that'),
  ]
  expect(await messagesAfter(turns, { earlier: 20 })).toEqual([
    ...[user('Message 1'), assistant('Let me')],
    ...[user('Message 2'), assistant('Where?'), user('Rome')],
    user('Message 3'),
    ...[user('Message 4'), assistant('Done')],
    ...[user('Message 5'), assistant('Not that')],
    user('Message 6'),
  ])
})
