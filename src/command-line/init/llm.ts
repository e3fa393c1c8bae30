/**
 * Files of a new LLM agent, where they differ from those of another agent.
 *
 * @module
 */
import { isBuiltin } from 'node:module'
import type { Project } from './project.js'

const HAS_SQLITE = isBuiltin('node:sqlite')

/** The packages that it needs beside this one, where this Node runs it. */
export const LLM_DEPENDENCIES = {
  ai: '^7.0.0',
  ...(!HAS_SQLITE && { libsql: '^0.5.0' }),
  zod: '^4.1.8',
}

/** AI SDK needs this Node. */
export const AI_NODE = 22

/** A file of SQLite without a package needs a later one. */
export const LLM_NODE = HAS_SQLITE ? '>=22.13' : `>=${AI_NODE}`

export function llmFiles(project: Project): Readonly<Record<string, string>> {
  const { language } = project
  return {
    [`agent.${language}`]: agent(project),
    [`model.${language}`]: MODEL,
    [`server.${language}`]: server(project),
    [`client.${language}`]: CLIENT,
    [`agent.test.${language}`]: test(project),
    Dockerfile: dockerfile(project),
    '.dockerignore': 'node_modules\n.git\ntasks.db*\n',
    '.gitignore': 'node_modules\ntasks.db*\n',
    'README.md': readme(project),
  }
}

function agent({ name, language }: Project): string {
  const isTypeScript = language === 'ts'
  const [typeImport, ofModel, ofRun] = isTypeScript
    ? [', type LanguageModel', ': Exclude<LanguageModel, string>', ': Run']
    : ['', '', '']
  return `import { tool, ToolLoopAgent${typeImport} } from 'ai'
import { z } from 'zod'
import { aiSdk } from 'a2a-tasks/ai'
${isTypeScript ? "import type { Run } from 'a2a-tasks/server'\n" : ''}import { model } from './model.${language}'

const weather = tool({
  description: 'Tells the weather in a city',
  inputSchema: z.object({ city: z.string() }),
  execute: async ({ city }) => \`Sunny in \${city}\`,
})

// A call that a crash has cut is made again, with the same toolCallId, which is unique in the task.
const book = tool({
  description: 'Books a flight to a city',
  inputSchema: z.object({ city: z.string() }),
  execute: async ({ city }, { toolCallId }) => \`Booked a seat to \${city}, reference \${toolCallId}\`,
})

/** Calls of the model and of tools are steps: after a crash, the agent continues after the last one. */
export function executeWith(model${ofModel}) {
  return async (run${ofRun}) => {
    const ai = aiSdk(run)
    const agent = new ToolLoopAgent({
      model: ai.model(model),
      instructions: 'You are a travel agent. Look at the weather before you book.',
      tools: ai.tools({ weather, book }),
      toolApproval: ai.approval({ book: 'user-approval' }),
    })
    // The last 20 messages and results of the conversation before this task, and the messages of the task.
    const messages = await ai.messages({ earlier: 20 })
    await ai.finish(agent.stream({ messages, abortSignal: run.signal }))
  }
}

const port = process.env['PORT'] ?? '3000'

/** Options of \`createRequestHandler\`. */
export default {
  card: {
    name: '${name}',
    description: 'Books flights',
    version: '0.1.0',
    // Where clients call the agent. In production: https://agent.example.
    url: process.env['AGENT_URL'] ?? \`http://localhost:\${port}\`,
    skills: [
      {
        id: 'travel',
        name: 'Travel',
        description: 'Tells the weather and books flights. Asks before it books',
        tags: ['travel'],
        examples: ['A trip to Rome'],
      },
    ],
  },
  // Without \`authenticate\`, a client can read each task whose id it knows: see the guide to authentication.
  execute: executeWith(model),
}
`
}

const MODEL = `import { gateway } from 'ai'
import { fakeModel } from 'a2a-tasks/testing'

/**
 * Any model of AI SDK: with the package @ai-sdk/openai, openai('gpt-5'). Without the key, a fake one with a script.
 */
export const model = process.env['AI_GATEWAY_API_KEY']
  ? gateway('anthropic/claude-sonnet-4.5')
  : fakeModel(
      [
        ['Let me look.', { tool: 'weather', input: { city: 'Rome' } }],
        { tool: 'book', input: { city: 'Rome' } },
        'Your flight to Rome is booked. Pack for the sun.',
      ],
      // The answer to all further messages of a conversation.
      ['You have a flight to Rome, and it is sunny there.'],
    )
`

function server({ language }: Project): string {
  return `import { createServer } from 'node:http'
import { createRequestHandler } from 'a2a-tasks/server'
import { toNodeListener } from 'a2a-tasks/server/node'
import { openTasks } from 'a2a-tasks/stores/sqlite'
import agent from './agent.${language}'

// Tasks survive a restart. For several processes, use PostgreSQL or Redis.
const tasks = await openTasks(process.env['TASKS'] ?? 'tasks.db')
const handler = createRequestHandler({ ...agent, tasks })
const port = Number(process.env['PORT'] ?? 3000)
const server = createServer(toNodeListener(handler.fetch))
server.listen(port, () => console.log(\`Listening on http://localhost:\${port}\`))

// Runs are handed over, and streams get their last events, before the process ends.
const stop = async () => {
  server.close()
  await handler.close()
  await tasks.destroy()
  process.exit(0)
}
process.once('SIGTERM', stop).once('SIGINT', stop)
`
}

const CLIENT = `import { A2AClient } from 'a2a-tasks/client'

const { PORT = '3000' } = process.env
const [url = \`http://localhost:\${PORT}\`, text = 'A trip to Rome'] = process.argv.slice(2)
const agent = await A2AClient.connect(url)
const result = await agent.run(text, {
  onUpdate: ({ event, task }) => console.log(event.type, task.state),
  // Approves what it is asked. A person answers with: npx a2a-tasks send
  onQuestions: () => ({ book: 'approve' }),
})
console.log(result.type, result.text)
`

function test({ language }: Project): string {
  return `import assert from 'node:assert/strict'
import { test } from 'node:test'
import { A2AClient, toolCallsIn } from 'a2a-tasks/client'
import { fakeAgent, fakeModel } from 'a2a-tasks/testing'
import { executeWith } from './agent.${language}'

// The answers of the model: the test needs no key, and no port.
const model = fakeModel([{ tool: 'book', input: { city: 'Oslo' } }, 'That is all.'])
const { url, fetch } = fakeAgent(executeWith(model))
const agent = await A2AClient.connect(url, { fetch })

for (const [verdict, state] of [['approve', 'done'], ['reject', 'rejected']]) {
  test(\`asks before it books: \${verdict}\`, async () => {
    const result = await agent.run('To Oslo', { onQuestions: () => ({ book: verdict }) })
    assert.equal(result.text, 'That is all.')
    assert.equal(result.type, 'completed')
    const [call] = toolCallsIn(result.task.artifacts[0])
    assert.equal(call?.name, 'book')
    assert.equal(call?.state, state)
  })
}
`
}

function dockerfile({ language }: Project): string {
  return `FROM node:24-alpine
WORKDIR /app
COPY package*.json ./
RUN npm install --omit=dev
COPY . .
RUN mkdir /data && chown node /data
VOLUME /data
USER node
ENV NODE_ENV=production PORT=3000 TASKS=/data/tasks.db
EXPOSE 3000
CMD ["node", "server.${language}"]
`
}

const NEEDS = HAS_SQLITE
  ? 'It needs Node 22.13 or later: AI SDK needs 22, and the file of SQLite 22.13.'
  : `AI SDK needs Node ${AI_NODE} or later. The package \`libsql\` opens the file of SQLite: Node 22.13 and later need none.`

function readme({ name, language }: Project): string {
  return `# ${name}

An A2A agent with a language model and tools. ${NEEDS}

\`\`\`sh
npm install
npm test               # with a model that has a script
npm start              # serves the agent on http://localhost:3000
npx a2a-tasks send http://localhost:3000 'A trip to Rome' --context trip
npx a2a-tasks send http://localhost:3000 'Where do I go?' --context trip
npm run client         # sends it a message, and approves
npm run dev            # serves it with an inspector, and restarts when a file changes
\`\`\`

- \`model.${language}\` is the model. Without \`AI_GATEWAY_API_KEY\`, it is a fake one.
- \`agent.${language}\` is the agent with its tools, \`server.${language}\` serves it over the file \`tasks.db\`, \`client.${language}\` calls it.
- Stop the server while the agent asks, start it again, and answer: the agent continues.
- \`npx a2a-tasks inspect tasks.db\` shows its tasks, with the calls of tools.
- \`docker build -t ${name} . && docker run -p 3000:3000 -v ${name}:/data ${name}\` runs it in a container. Set \`AGENT_URL\` to
  the URL that clients use.
`
}
