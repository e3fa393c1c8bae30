/**
 * Files of a new agent.
 *
 * @module
 */
import { LLM_DEPENDENCIES, LLM_NODE, llmFiles } from './llm.js'
import type { Project } from './project.js'

/** The file that may be there before: `npm install` writes it. */
export const MANIFEST = 'package.json'

type Manifest = Readonly<Record<string, unknown>>

/** The files by their paths. What `present` has, the manifest that was there, stays as it is. */
export function projectFiles(project: Project, present: Manifest = {}): Readonly<Record<string, string>> {
  const { language } = project
  return {
    [MANIFEST]: `${JSON.stringify(merged(present, manifest(project)), undefined, 2)}\n`,
    [`agent.${language}`]: agent(project),
    [`server.${language}`]: server(project),
    [`client.${language}`]: CLIENT,
    [`agent.test.${language}`]: test(project),
    Dockerfile: dockerfile(project),
    '.dockerignore': 'node_modules\n.git\n',
    '.gitignore': 'node_modules\n',
    'README.md': readme(project),
    ...(project.isLlm && llmFiles(project)),
    ...(language === 'ts' && { 'tsconfig.json': TSCONFIG }),
  }
}

function manifest(project: Project): Manifest {
  const { name, language, isLlm, hasLoader, version } = project
  const isTypeScript = language === 'ts'
  return {
    name,
    version: '0.1.0',
    private: true,
    type: 'module',
    // From 22.18 on, Node runs TypeScript.
    engines: { node: isTypeScript && !hasLoader ? '>=22.18' : isLlm ? LLM_NODE : '>=20.19' },
    scripts: scriptsOf(project),
    dependencies: { 'a2a-tasks': version, ...(isLlm && LLM_DEPENDENCIES) },
    ...(isTypeScript && {
      devDependencies: {
        '@types/node': '^22.18.0',
        ...(hasLoader && { tsx: '^4.20.0' }),
        typescript: '^5.9.0 || ^6.0.0',
      },
    }),
  }
}

/** Scripts of a manifest by their names. */
type Scripts = Readonly<Record<'start' | 'dev' | 'client' | 'test' | 'check', string>> & {
  readonly types?: string
}

/** The scripts of the manifest. */
export function scriptsOf({ language, hasLoader }: Project): Scripts {
  const node = hasLoader ? 'node --import tsx' : 'node'
  return {
    start: `${node} server.${language}`,
    dev: `a2a-tasks dev agent.${language}`,
    client: `${node} client.${language}`,
    test: `${node} --test agent.test.${language}`,
    check: 'a2a-tasks check http://localhost:3000',
    ...(language === 'ts' && { types: 'tsc' }),
  }
}

/** `own` with the properties of `added` that it lacks, also within its objects. */
function merged(own: Manifest, added: Manifest): Manifest {
  const more = Object.entries(added).map(([name, value]): [string, unknown] => {
    const present = own[name]
    return [name, isObject(present) && isObject(value) ? merged(present, value) : (present ?? value)]
  })
  return { ...own, ...Object.fromEntries(more) }
}

export function isObject(value: unknown): value is Manifest {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function agent({ name }: Project): string {
  return `import { createRequestHandler, textOf } from 'a2a-tasks/server'

const port = process.env['PORT'] ?? '3000'

/** An agent that greets the user. Change \`execute\` to what yours does. */
export default createRequestHandler({
  card: {
    name: '${name}',
    description: 'Greets the user by name',
    version: '0.1.0',
    // Where clients call the agent. In production: https://agent.example.
    url: process.env['AGENT_URL'] ?? \`http://localhost:\${port}\`,
    skills: [
      {
        id: 'greet',
        name: 'Greet',
        description: 'Greets the user by name. Asks for the name if the message is "Hello"',
        tags: ['greeting'],
        examples: ['Ada', 'Hello'],
      },
    ],
  },
  // Without \`authenticate\`, a client can read each task whose id it knows: see the guide to authentication.
  async *execute(run) {
    let user = run.text
    if (user === 'Hello') user = textOf(await run.requireInput('What is your name?'))
    run.update('Writing the greeting')
    yield 'Hello, '
    yield \`\${user}!\`
  },
})
`
}

function server({ language }: Project): string {
  return `import { createServer } from 'node:http'
import { toNodeListener } from 'a2a-tasks/server/node'
import handler from './agent.${language}'

const port = Number(process.env['PORT'] ?? 3000)
const server = createServer(toNodeListener(handler.fetch))
server.listen(port, () => console.log(\`Listening on http://localhost:\${port}\`))

// Runs end, and streams get their last events, before the process does.
const stop = async () => {
  server.close()
  await handler.close()
  process.exit(0)
}
process.once('SIGTERM', stop).once('SIGINT', stop)
`
}

const CLIENT = `import { A2AClient } from 'a2a-tasks/client'

const { PORT = '3000' } = process.env
const [url = \`http://localhost:\${PORT}\`, text = 'Ada'] = process.argv.slice(2)
const agent = await A2AClient.connect(url)
const result = await agent.run(text, {
  onUpdate: ({ event, task }) => console.log(event.type, task.state),
})
console.log(result.type, result.text)
`

function test({ language }: Project): string {
  return `import assert from 'node:assert/strict'
import { test } from 'node:test'
import { A2AClient } from 'a2a-tasks/client'
import handler from './agent.${language}'

// Calls the agent in memory, without a port.
const agent = new A2AClient({
  card: handler.card,
  fetch: async (url, init) => handler.fetch(new Request(url, init)),
})

test('greets the user', async () => {
  const result = await agent.run('Ada')
  assert.equal(result.text, 'Hello, Ada!')
})

test('asks for the name', async () => {
  const result = await agent.run('Hello', { onInputRequired: () => 'Grace' })
  assert.equal(result.text, 'Hello, Grace!')
})
`
}

function dockerfile({ language }: Project): string {
  return `FROM node:24-alpine
WORKDIR /app
COPY package*.json ./
RUN npm install --omit=dev
COPY . .
USER node
ENV NODE_ENV=production PORT=3000
EXPOSE 3000
CMD ["node", "server.${language}"]
`
}

const TSCONFIG = `{
  "compilerOptions": {
    "target": "es2022",
    "module": "nodenext",
    "types": ["node"],
    "strict": true,
    "noEmit": true,
    "skipLibCheck": true,
    "allowImportingTsExtensions": true,
    "erasableSyntaxOnly": true
  }
}
`

function readme({ name, language }: Project): string {
  return `# ${name}

An A2A agent.

\`\`\`sh
npm install
npm test
npm start              # serves the agent on http://localhost:3000
npm run client         # sends it a message
npx a2a-tasks send http://localhost:3000 Hello
npm run check          # checks it against the specification
npm run dev            # serves it, and restarts when a file changes
\`\`\`

- \`agent.${language}\` is the agent, \`server.${language}\` serves it, \`client.${language}\` calls it.
- \`docker build -t ${name} . && docker run -p 3000:3000 ${name}\` runs it in a container. Set \`AGENT_URL\` to the URL that
  clients use.
`
}
