/**
 * The conformance suite of MCP against an agent over HTTP: what passes, and what a server of skills does not offer. And against an
 * agent whose skills are the tools of a server: the suite's own servers, with an official client between.
 */
import { execFile } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { build } from 'esbuild'
import { expect, onTestFinished, test } from 'vitest'
import * as z from 'zod'
import type { JsonObject, JsonValue, PartInput } from 'a2a-tasks'
import { A2AClient, type AgentQuestion, type QuestionAnswers } from 'a2a-tasks/client'
import { mcpAgent, type McpClient, type McpTool } from 'a2a-tasks/mcp'
import { createRequestHandler, type Execute, type Run } from 'a2a-tasks/server'
import { describeWith, MODULES } from '../installed.js'
import { clientV1, clientV2 } from './agent-kit.js'
import { serve } from './kit.js'

const PASSED = [
  'dns-rebinding-protection',
  'elicitation-sep1034-defaults',
  'json-schema-2020-12',
  'ping',
  'server-initialize',
  'server-sse-multiple-streams',
  'tools-call-audio',
  'tools-call-elicitation',
  'tools-call-embedded-resource',
  'tools-call-error',
  'tools-call-image',
  'tools-call-mixed-content',
  'tools-call-simple-text',
  'tools-call-with-progress',
  'tools-list',
]

/** What fails, or is not checked, and why. */
const [COMPLETION, LOGGING, PROMPTS, RESOURCES, SAMPLING] = [
  'Skills have no lists of values for their arguments',
  'The log of a task is that of A2A',
  'An agent has no prompts: it answers messages',
  'What an agent makes is the content of results',
  'An agent has a model of its own',
]

const NOT_OFFERED: Readonly<Record<string, string>> = {
  'completion-complete': COMPLETION,
  // The titles are in `oneOf`, as the same scenario asks for. The other four of its checks pass.
  'elicitation-sep1330-legacy-enumnames': '`enumNames` is deprecated, and no JSON Schema',
  'logging-set-level': LOGGING,
  'tools-call-with-logging': LOGGING,
  'prompts-get-embedded-resource': PROMPTS,
  'prompts-get-simple': PROMPTS,
  'prompts-get-with-args': PROMPTS,
  'prompts-get-with-image': PROMPTS,
  'prompts-list': PROMPTS,
  'resources-list': RESOURCES,
  'resources-read-binary': RESOURCES,
  'resources-read-text': RESOURCES,
  'resources-subscribe': RESOURCES,
  'resources-templates-read': RESOURCES,
  'resources-unsubscribe': RESOURCES,
  'server-sse-polling': 'The server ends no stream before its call: a client resumes one that has broken',
  'tools-call-sampling': SAMPLING,
}

const PNG = { raw: 'iVBORw0KGgo=', mediaType: 'image/png' }
const labeled = (names: readonly string[]): object[] =>
  names.map((title, at) => ({ const: `value${at + 1}`, title }))

/** The tools that the suite calls, as skills. */
const SKILLS: Readonly<Record<string, Execute>> = {
  test_simple_text: () => 'This is a simple text response for testing.',
  test_image_content: (run) => made(run, [PNG]),
  test_audio_content: (run) => made(run, [{ raw: 'UklGRg==', mediaType: 'audio/wav' }]),
  test_embedded_resource: (run) => made(run, [{ raw: 'SGk=', mediaType: 'text/plain' }]),
  test_multiple_content_types: (run) =>
    made(run, [
      { text: 'Multiple content types test:' },
      PNG,
      { raw: 'e30=', mediaType: 'application/json' },
    ]),
  test_error_handling: (run) => run.fail('This tool intentionally returns an error for testing'),
  async test_tool_with_progress(run) {
    for (const percent of ['0', '50', '100']) {
      run.update(percent)
      await Promise.resolve()
    }
    return 'Done'
  },
  test_elicitation: (run) =>
    answered(run, {
      username: { type: 'string', description: "User's response" },
      email: { type: 'string', description: "User's email address" },
    }),
  test_elicitation_sep1034_defaults: (run) =>
    answered(run, {
      name: { type: 'string', default: 'John Doe' },
      age: { type: 'integer', default: 30 },
      score: { type: 'number', default: 95.5 },
      status: { type: 'string', enum: ['active', 'inactive', 'pending'], default: 'active' },
      verified: { type: 'boolean', default: true },
    }),
  test_elicitation_sep1330_enums: (run) =>
    answered(run, {
      untitledSingle: { type: 'string', enum: ['option1', 'option2', 'option3'] },
      titledSingle: { type: 'string', oneOf: labeled(['First Option', 'Second Option', 'Third Option']) },
      legacyEnum: {
        type: 'string',
        enum: ['opt1', 'opt2', 'opt3'],
        enumNames: ['Option One', 'Option Two', 'Option Three'],
      },
      untitledMulti: { type: 'array', items: { type: 'string', enum: ['option1', 'option2', 'option3'] } },
      titledMulti: {
        type: 'array',
        items: { anyOf: labeled(['First Choice', 'Second Choice', 'Third Choice']) },
      },
    }),
  json_schema_2020_12_tool: () => 'Done',
}

function made(run: Run, parts: readonly PartInput[]): undefined {
  run.artifact({ parts })
}

async function answered(run: Run, properties: object): Promise<string> {
  const jsonSchema = { type: 'object', properties }
  return `User response: ${JSON.stringify(await run.requireInput('Fill in', { schema: z.unknown(), jsonSchema }))}`
}

const TOOLS: Readonly<Record<string, McpTool>> = {
  ...Object.fromEntries(Object.keys(SKILLS).map((id) => [id, { inputSchema: { type: 'object' } }])),
  // Its argument is a message.
  test_elicitation: {},
  json_schema_2020_12_tool: {
    inputSchema: {
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      type: 'object',
      $defs: {
        address: {
          type: 'object',
          properties: { street: { type: 'string' }, city: { type: 'string' } },
        },
      },
      properties: { name: { type: 'string' }, address: { $ref: '#/$defs/address' } },
      additionalProperties: false,
    },
  },
}

const execute: Execute = async (run) => {
  const skill = run.message.metadata?.['skill']
  return await (typeof skill === 'string' ? SKILLS[skill] : undefined)?.(run)
}

interface Check {
  readonly id: string
  readonly status: string
}

/** Runs the suite. Its checks, by the names of their scenarios. */
async function checksOf(...args: readonly string[]): Promise<ReadonlyMap<string, readonly Check[]>> {
  const folder = mkdtempSync(join(tmpdir(), 'mcp-conformance-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const program = join(folder, 'conformance.cjs')
  // As CommonJS: a command that is not used here imports what Node 20 does not have.
  await build({
    entryPoints: [`${MODULES}@modelcontextprotocol/conformance/dist/index.js`],
    ...{ outfile: program, bundle: true, platform: 'node', format: 'cjs', logLevel: 'silent' },
  })
  const results = join(folder, 'results')
  // Its status is that of its worst scenario.
  await promisify(execFile)(process.execPath, [program, ...args, '-o', results]).catch(() => undefined)
  return new Map(
    readdirSync(results).map((name) => {
      const [, scenario = name] = /^(?:server-)?(.*)-\d{4}-\d\d-\d\dT/.exec(name) ?? []
      return [
        scenario,
        JSON.parse(readFileSync(join(results, name, 'checks.json'), 'utf8')) as readonly Check[],
      ]
    }),
  )
}

/** The scenarios that pass, and of the others the checks that do not. */
async function outcomeAt(url: URL): Promise<Record<'passed' | 'failed', readonly string[]>> {
  const passed: string[] = []
  const failed: string[] = []
  for (const [scenario, checks] of await checksOf('server', '--suite', 'all', '--url', url.href)) {
    const faults = checks.filter(({ status }) => status !== 'SUCCESS' && status !== 'INFO')
    const isChecked = checks.some(({ status }) => status !== 'INFO')
    if (faults.length > 0) failed.push(...faults.map(({ id }) => id))
    else (isChecked ? passed : failed).push(scenario)
  }
  return { passed: passed.sort(), failed: failed.sort() }
}

/**
 * The scenarios for clients that reach an agent, and their checks: that it lists tools, calls one with the user's data, shows the
 * form of a question with its defaults and brings the values back, and has the result of a call whose stream was resumed.
 *
 * Those of `auth/` are left out: tokens are the business of the official client, and no code of this package is on their way. So is
 * the check of the time after which it connects again.
 */
const OF_CLIENTS: Readonly<Record<string, readonly string[]>> = {
  initialize: ['mcp-client-initialization'],
  tools_call: ['tool-add-numbers'],
  'elicitation-sep1034-client-defaults': ['string', 'integer', 'number', 'enum', 'boolean'].map(
    (type) => `client-elicitation-sep1034-${type}-default`,
  ),
  'sse-retry': ['client-sse-graceful-reconnect', 'client-sse-last-event-id'],
}

/** A command that has this process do the work: it passes on the URL that the suite gives it. */
async function commandOf(work: (url: URL) => Promise<void>): Promise<string> {
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '', 'http://localhost').searchParams.get('url') ?? ''
    void work(new URL(url))
      .then(
        () => 200,
        () => 500,
      )
      .then((status) => response.writeHead(status).end())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const folder = mkdtempSync(join(tmpdir(), 'mcp-conformance-'))
  onTestFinished(() => {
    rmSync(folder, { recursive: true, force: true })
    server.close()
  })
  const { port } = server.address() as AddressInfo
  const program = join(folder, 'ask.mjs')
  writeFileSync(
    program,
    `const url = encodeURIComponent(process.argv.at(-1))
const { ok } = await fetch('http://127.0.0.1:${port}/?url=' + url)
process.exit(ok ? 0 : 1)
`,
  )
  return `${process.execPath} ${program}`
}

/** What the user of the agent sends to a tool, where it needs something. */
const INPUTS: Readonly<Record<string, JsonObject>> = { add_numbers: { a: 5, b: 3 } }

/** Uses each skill of the agent over this client. Its user accepts what a form begins with. */
async function driveAgent(client: McpClient): Promise<void> {
  const card = { name: 'Tools', url: 'https://tools.test' }
  const handler = createRequestHandler({ ...(await mcpAgent(client, { card })), anonymous: 'shared' })
  const agent = new A2AClient({
    card: handler.card,
    fetch: (url, init) => handler.fetch(new Request(url, init)),
  })
  for (const { id: skill } of agent.card.skills) {
    const message = { parts: [{ data: INPUTS[skill] ?? {} }], metadata: { skill } }
    const onQuestions = (questions: readonly AgentQuestion[]): QuestionAnswers =>
      Object.fromEntries(questions.map(({ id, schema }) => [id, beginningOf(schema)]))
    await agent.run(message, { onQuestions })
  }
  await handler.close()
  await client.close()
}

function beginningOf({ properties = {} }: Readonly<Record<string, unknown>>): JsonObject {
  const fields = Object.entries(properties as Readonly<Record<string, { readonly default: JsonValue }>>)
  return Object.fromEntries(fields.map(([name, field]) => [name, field.default]))
}

describeWith('@modelcontextprotocol/conformance', () => {
  test('an agent passes all scenarios of what it offers', async () => {
    const { url } = await serve(execute, { tools: TOOLS }, Object.keys(SKILLS))
    const { passed, failed } = await outcomeAt(url)
    expect(passed).toEqual(PASSED)
    expect(failed).toEqual(Object.keys(NOT_OFFERED).sort())
  })

  test.each([
    ['1.x', clientV1],
    ['2.x', clientV2],
  ] as const)('an agent over a server of the suite, by the client %s', async (_, connect) => {
    const command = await commandOf(async (url) => await driveAgent(await connect({ url })))
    const passed: string[] = []
    for (const scenario of Object.keys(OF_CLIENTS)) {
      const checks = await checksOf('client', '--command', command, '--scenario', scenario)
      for (const { id, status } of [...checks.values()].flat()) if (status === 'SUCCESS') passed.push(id)
    }
    expect(passed).toEqual(expect.arrayContaining(Object.values(OF_CLIENTS).flat()))
  })
})
