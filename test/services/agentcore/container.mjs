/** An agent in the container of AgentCore Runtime, on a free port of loopback. Its prompt says how it answers. */
import { BedrockAgentCoreApp } from 'bedrock-agentcore/runtime'

const content = (text) => ({ role: 'assistant', content: [{ text }] })

async function* stream(chunks) {
  yield* chunks
}

async function* failing() {
  yield { text: 'So far so good' }
  throw new Error('boom')
}

async function* endless() {
  yield { text: 'Working' }
  await new Promise(() => {})
}

const answers = {
  // The container sends a string as it is, even as application/json.
  text: () => 'Plain text',
  'json text': () => JSON.stringify('Text in JSON'),
  response: () => ({ response: [{ text: 'In a list' }] }),
  who: (_, { sessionId, headers }) => ({ sessionId, headers }),
  stream: () => stream([{ text: 'one ' }, { text: 'two ' }, { text: 'three' }]),
  words: () => stream(['one ', 'two ', 'three']),
  // What a Strands agent streams.
  strands: () =>
    stream([
      { event: { messageStart: { role: 'assistant' } } },
      { event: { contentBlockDelta: { delta: { text: 'Hello, ' }, contentBlockIndex: 0 } } },
      { event: { contentBlockDelta: { delta: { text: 'you' }, contentBlockIndex: 0 } } },
      { event: { messageStop: { stopReason: 'end_turn' } } },
    ]),
  fail: () => {
    throw new Error('boom')
  },
  'fail late': () => failing(),
  hold: () => new Promise(() => {}),
  'hold stream': () => endless(),
}

const app = new BedrockAgentCoreApp({
  invocationHandler: {
    process: (request, context) => {
      const { prompt } = request
      const answer = Object.hasOwn(answers, prompt) ? answers[prompt] : undefined
      return answer ? answer(request, context) : { result: content(`You said: ${prompt}`) }
    },
  },
  // It tells where it listens only in its log.
  config: { logging: { enabled: true, options: { level: 'info', stream: { write: announce } } } },
})

function announce(line) {
  const url = /Server listening at (http:\/\/127\.0\.0\.1:\d+)/.exec(line)?.[1]
  if (url) process.send(url)
}

process.on('disconnect', () => process.exit())
app.run({ host: '127.0.0.1', port: 0 })
