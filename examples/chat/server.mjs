/** The agent, and the page that speaks to it. Start it with `npm start`, and open the URL that it prints, or `/?user=bob` of it. */
import { createServer } from 'node:http'
import react from '@vitejs/plugin-react'
import { isStepCount, streamText, tool } from 'ai'
import { createServer as createVite } from 'vite'
import { z } from 'zod'
import { aiSdk } from 'a2a-tasks/ai'
import { createRequestHandler } from 'a2a-tasks/server'
import { toNodeListener } from 'a2a-tasks/server/node'
import { fakeModel } from 'a2a-tasks/testing'

// Use a model of a provider, such as openai('gpt-5') of @ai-sdk/openai.
const model = fakeModel([
  ['Let me look at the weather. ', { tool: 'weather', input: { city: 'Rome' } }],
  { tool: 'book', input: { city: 'Rome' } },
  'Have a good trip!',
])
const inputSchema = z.object({ city: z.string() })
const slowly = (signal) => new Promise((resolve) => setTimeout(resolve, 2_000, signal))
const weather = tool({ inputSchema, execute: async () => (await slowly(), 'Sunny, 24 °C') })
const book = tool({ inputSchema, execute: async ({ city }) => `A flight to ${city}` })
const trip = z.object({ nights: z.int().min(1), breakfast: z.boolean() })

const handler = createRequestHandler({
  // The page calls the agent at its own origin, whatever this URL is.
  card: { name: 'Travel', url: 'https://travel.example/agent' },
  // The token is the name of the user. Check a real one.
  authenticate(request) {
    const [, id] = /^Bearer (ann|bob)$/.exec(request.headers.get('authorization') ?? '') ?? []
    return id === undefined ? undefined : { id }
  },
  async execute(run) {
    await run.requireInput('How long do you stay?', { schema: trip })
    const ai = aiSdk(run)
    const result = streamText({
      model: ai.model(model),
      tools: ai.tools({ weather, book }),
      toolApproval: ai.approval({ book: 'user-approval' }, { message: () => 'Book the flight for 42 €?' }),
      messages: await ai.messages({ earlier: 20 }),
      stopWhen: isStepCount(10),
      abortSignal: run.signal,
    })
    await ai.finish(result)
  },
})
const agent = createServer(toNodeListener(handler.fetch))
await new Promise((resolve) => agent.listen(Number(process.env.AGENT_PORT ?? 3000), '127.0.0.1', resolve))

const target = `http://127.0.0.1:${agent.address().port}`
const port = Number(process.env.PORT ?? 5173)
const vite = await createVite({
  plugins: [react()],
  server: { port, host: '127.0.0.1', proxy: { '/agent': target } },
})
await vite.listen()
vite.printUrls()
