/** What the models of OpenAI get of the files of a user, by the official package. */
import { langChain } from 'a2a-tasks/ai'
import { expect, test } from 'vitest'
import { describeWith, loadFramework } from '../installed.js'
import { seenOf } from '../seen.js'

interface Packages {
  readonly ChatOpenAI: new (fields: object) => object
  readonly createAgent: (options: object) => { invoke(input: object, config: object): Promise<object> }
}

const COMPLETION = {
  ...{ id: 'x', object: 'chat.completion', created: 1, model: 'gpt-5' },
  choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: 'Seen' } }],
}
const RESPONSE = {
  ...{ id: 'x', object: 'response', created_at: 1, model: 'gpt-5', status: 'completed' },
  output: [
    {
      ...{ type: 'message', id: 'm', role: 'assistant', status: 'completed' },
      content: [{ type: 'output_text', text: 'Seen', annotations: [] }],
    },
  ],
}

const INPUT = {
  parts: [
    { text: 'Read these' },
    { raw: 'AQID', mediaType: 'image/png', filename: 'a.png' },
    { url: 'https://example.com/b.png', mediaType: 'image/png' },
    { raw: 'AQID', mediaType: 'application/pdf', filename: 'c.pdf' },
  ],
}

/** The content of the message of the user that an agent has sent to its provider. */
async function sentBy(useResponsesApi: boolean): Promise<unknown> {
  const { ChatOpenAI } = await loadFramework<Packages>('@langchain/openai')
  const { createAgent } = await loadFramework<Packages>('langchain')
  const bodies: { messages?: { content: unknown }[]; input?: { content: unknown }[] }[] = []
  const fetch = (_: unknown, { body }: { body: string }): Promise<Response> => {
    bodies.push(JSON.parse(body) as (typeof bodies)[number])
    return Promise.resolve(Response.json(useResponsesApi ? RESPONSE : COMPLETION))
  }
  const model = new ChatOpenAI({
    ...{ apiKey: 'key', model: 'gpt-5', maxRetries: 0, streaming: false, useResponsesApi },
    configuration: { fetch },
  })
  const { type, errors } = await seenOf(
    async (run) => {
      const ai = langChain(run)
      await ai.finish(createAgent({ model: ai.model(model), tools: [] }), { messages: await ai.messages() })
    },
    { input: INPUT },
  )
  expect({ type, errors }).toEqual({ type: 'completed', errors: [] })
  return (bodies[0]?.messages ?? bodies[0]?.input)?.[0]?.content
}

describeWith('@langchain/openai', () => {
  test('images and files reach Chat Completions', async () => {
    expect(await sentBy(false)).toEqual([
      { type: 'text', text: 'Read these' },
      { type: 'image_url', image_url: { url: 'data:image/png;base64,AQID' } },
      { type: 'image_url', image_url: { url: 'https://example.com/b.png' } },
      { type: 'file', file: { file_data: 'data:application/pdf;base64,AQID', filename: 'c.pdf' } },
    ])
  })

  test('images and files reach Responses', async () => {
    expect(await sentBy(true)).toEqual([
      { type: 'input_text', text: 'Read these' },
      { type: 'input_image', detail: 'auto', image_url: 'data:image/png;base64,AQID' },
      { type: 'input_image', detail: 'auto', image_url: 'https://example.com/b.png' },
      { type: 'input_file', file_data: 'data:application/pdf;base64,AQID', filename: 'c.pdf' },
    ])
  })
})
