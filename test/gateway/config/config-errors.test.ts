import { inspect } from 'node:util'
import { describe, expect, it } from 'vitest'
import { A2AError } from 'a2a-tasks'
import { loadGatewayConfig } from '../../../src/gateway/config/config.js'
import { A2AGateway } from '../../../src/gateway/gateway.js'
import { a2a } from '../../../src/gateway/providers/a2a/provider.js'
import { azureAI } from '../../../src/gateway/providers/azure/provider.js'
import { AgentRegistry } from '../../../src/gateway/registry/registry.js'

async function faultOf(text: string, env: Readonly<Record<string, string>> = {}): Promise<A2AError> {
  const error: unknown = await loadGatewayConfig(text, { env }).catch((thrown: unknown) => thrown)
  if (A2AError.is(error, 'CONFIGURATION_ERROR')) return error
  throw new Error(`It was taken: ${inspect(error)}`)
}

const AGENT = { id: 'one', provider: 'a2a', capabilities: '[echo]', endpoint: '{ url: "https://one.test" }' }

function agents(...all: Readonly<Record<string, string | undefined>>[]): string {
  const items = all.map((lines) => {
    const given: [string, string | undefined][] = Object.entries({ ...AGENT, ...lines })
    const entries = given.flatMap(([key, value]) => (value === undefined ? [] : [`      ${key}: ${value}`]))
    return `    -\n${entries.join('\n')}`
  })
  return `a2a:\n  agents:\n${items.join('\n')}\n`
}

/** Each line is nested in the one before it. */
function lines(count: number): string {
  return Array.from({ length: count }, (_, at) => `${' '.repeat(at)}a:`).join('\n')
}

describe('an error names the place:', () => {
  it('the file, the line, the column and the key', async () => {
    const text = agents(
      {},
      { id: 'two', endpoint: '{ url: "https://x", auth: { type: bearer, token: "${KEY}" } }' },
    )
    const error = await loadGatewayConfig(text, { env: {}, file: 'my.yaml' }).catch(
      (thrown: unknown) => thrown,
    )
    expect(error).toMatchObject({
      message: 'my.yaml:12:66 a2a.agents[1].endpoint.auth.token of agent "two": the variable KEY is not set',
      data: { file: 'my.yaml', line: 12, column: 66, key: 'a2a.agents[1].endpoint.auth.token', agent: 'two' },
    })
  })

  it.each([
    ['no section', 'other: 1', '1:1 the section a2a is missing'],
    ['a misspelt section', 'A2A: {}', '1:1 the section a2a is missing, did you mean "A2A"?'],
    ['no map', '- a2a', '1:1 must be a map with the section a2a'],
    [
      'an unknown key',
      'a2a:\n  agent: []',
      '2:3 a2a.agent: is unknown, did you mean "agents"?; known are enabled, gateway, agents',
    ],
    [
      'a key in other words',
      agents({ endpoint: '{ url: "https://x", timeoutSeconds: 3 }' }),
      '7:37 a2a.agents[0].endpoint.timeoutSeconds of agent "one": is unknown, did you mean "timeout_seconds"?; known are url, auth, timeout_seconds',
    ],
    [
      'a key that is like none',
      'a2a: { zzz: 1 }',
      '1:8 a2a.zzz: is unknown; known are enabled, gateway, agents',
    ],
    ['no flag', 'a2a: { enabled: yes }', '1:17 a2a.enabled: must be true or false, got a text'],
    ['no list', 'a2a: { agents: { a: 1 } }', '1:16 a2a.agents: must be a list, got a map'],
    ['no map', 'a2a: { gateway: 3 }', '1:17 a2a.gateway: must be a map, got a number'],
    [
      'no text',
      agents({ name: '[a]' }),
      '8:13 a2a.agents[0].name of agent "one": must be a text, got a list',
    ],
    [
      'no time',
      'a2a: { gateway: { task_timeout_seconds: soon } }',
      '1:41 a2a.gateway.task_timeout_seconds: must be a number of seconds from 0.001 to 2147483.647, got a text',
    ],
    [
      'a number in quotes',
      'a2a: { gateway: { max_concurrent_tasks: "100" } }',
      '1:41 a2a.gateway.max_concurrent_tasks: must be a whole number from 1 to 2147483647, got a text',
    ],
    [
      'a circuit breaker that is merely on',
      'a2a: { gateway: { circuit_breaker: true } }',
      '1:36 a2a.gateway.circuit_breaker: must be a map, or false, got a boolean',
    ],
    [
      'a path in place of a text',
      'conf/gateway.yaml',
      '1:1 must be a map with the section a2a, got a text: loadGatewayConfig takes the text of the file, not its path',
    ],
    [
      'no time at all',
      'a2a: { gateway: { task_timeout_seconds: 0 } }',
      '1:41 a2a.gateway.task_timeout_seconds: must be a number',
    ],
    [
      'a time that no timer takes',
      'a2a: { gateway: { task_timeout_seconds: 2147484 } }',
      '1:41 a2a.gateway.task_timeout_seconds: must be a number',
    ],
    [
      'eternity',
      'a2a: { gateway: { health_check_interval_seconds: .inf } }',
      '1:50 a2a.gateway.health_check_interval_seconds: must be a number',
    ],
    [
      'half a task',
      'a2a: { gateway: { max_concurrent_tasks: 1.5 } }',
      '1:41 a2a.gateway.max_concurrent_tasks: must be a whole number from 1',
    ],
    [
      'no task',
      'a2a: { gateway: { max_concurrent_tasks: -1 } }',
      '1:41 a2a.gateway.max_concurrent_tasks: must be a whole number from 1',
    ],
    [
      'half a limit',
      'a2a: { gateway: { rate_limit: { requests: 1 } } }',
      '1:31 a2a.gateway.rate_limit.per_seconds: is missing',
    ],
    ['no id', agents({ id: undefined }), '4:7 a2a.agents[0].id: is missing'],
    ['an empty id', agents({ id: '" "' }), '4:11 a2a.agents[0].id of agent " ": must not be empty'],
    [
      'an id of another agent',
      agents({}, {}),
      '9:11 a2a.agents[1].id of agent "one": is the id of a2a.agents[0], too',
    ],
    [
      'a provider that is not known',
      agents({ provider: 'langgraf' }),
      '5:17 a2a.agents[0].provider of agent "one": "langgraf" is not known, did you mean "langgraph"?; known are a2a, langgraph, vertex_ai',
    ],
    [
      'a provider of another owner',
      agents({ provider: 'counting' }),
      '5:17 a2a.agents[0].provider of agent "one": "counting" is not known; known are a2a, langgraph, vertex_ai, azure_ai, bedrock, pydantic_ai, custom; for one of your own pass { providers } to loadGatewayConfig',
    ],
    [
      'an agent that can nothing',
      agents({ capabilities: '[]' }),
      '6:21 a2a.agents[0].capabilities of agent "one": must not be empty',
    ],
    [
      'a capability without a name',
      agents({ capabilities: '[a, { name: "" }]' }),
      '6:33 a2a.agents[0].capabilities[1].name of agent "one": must not be empty',
    ],
    [
      'no URL',
      agents({ endpoint: '{ url: one.test }' }),
      '7:24 a2a.agents[0].endpoint.url of agent "one": is not an http or https URL',
    ],
    [
      'no status',
      agents({ status: 'asleep' }),
      '8:15 a2a.agents[0].status of agent "one": must be one of online, offline, degraded, maintenance',
    ],
    [
      'credentials of no kind',
      agents({ endpoint: '{ url: "https://x", auth: { type: basic } }' }),
      '7:51 a2a.agents[0].endpoint.auth.type of agent "one": must be one of bearer, api_key, oauth2',
    ],
    [
      'credentials without a type',
      agents({ endpoint: '{ url: "https://x", auth: { token: x } }' }),
      '7:43 a2a.agents[0].endpoint.auth.type of agent "one": is missing',
    ],
    [
      'a header that is none',
      agents({ endpoint: '{ url: "https://x", auth: { type: api_key, header: "x y", key: k } }' }),
      '7:68 a2a.agents[0].endpoint.auth.header of agent "one": has characters that a request cannot contain',
    ],
    [
      'no token URL',
      agents({
        endpoint:
          '{ url: "https://x", auth: { type: oauth2, client_id: a, client_secret: b, token_url: c } }',
      }),
      '7:102 a2a.agents[0].endpoint.auth.token_url of agent "one": is not an http or https URL',
    ],
    [
      'half a variable',
      agents({ name: '"${A B}"' }),
      '8:13 a2a.agents[0].name of agent "one": has ${ without a variable',
    ],
    [
      'settings that are no map',
      agents({ settings: '3' }),
      '8:17 a2a.agents[0].settings of agent "one": must be a map, got a number',
    ],
  ])('%s', async (_name, text, message) => {
    const error = await faultOf(text)
    const report = error.message.slice('gateway.yaml:'.length)
    expect(report.slice(0, message.length)).toBe(message)
  })
})

describe('an error names the agent and the line', () => {
  const withSettings = (settings: string): string => agents({}, { id: 'two', settings })

  it.each([
    [
      'of a nested key',
      withSettings('{ a: { b: { c: "${X}" } } }'),
      '13:32 a2a.agents[1].settings.a.b.c of agent "two": the variable X is not set',
    ],
    [
      'of an item in a list of lists',
      withSettings('{ a: [x, [y, "${X}"]] }'),
      '13:30 a2a.agents[1].settings.a[1][1] of agent "two": the variable X is not set',
    ],
    [
      'of a tag in its metadata',
      agents({}, { id: 'two', metadata: '{ tags: [a, [b]] }' }),
      '13:29 a2a.agents[1].metadata.tags[1] of agent "two": must be a text, got a list',
    ],
    [
      'of a schema',
      agents({}, { id: 'two', capabilities: '[a, { name: b, input_schema: { x: ["${"] } }]' }),
      '11:56 a2a.agents[1].capabilities[1].input_schema.x[0] of agent "two": has ${ without a variable',
    ],
    [
      'of the anchor of its alias',
      `x: &x { url: nowhere }\n${agents({}, { id: 'two', endpoint: '*x' })}`,
      '1:14 a2a.agents[1].endpoint.url of agent "two": is not an http or https URL',
    ],
    [
      'of a value that it merges',
      `x: &x { settings: { a: [1, "\${X}"] } }\n${agents({}, { id: 'two', '<<': '*x' })}`,
      '1:28 a2a.agents[1].settings.a[1] of agent "two": the variable X is not set',
    ],
    [
      'of a key that it merges',
      `x: &x { url: "https://x", time: 3 }\n${agents({}, { id: 'two', endpoint: '{ <<: *x }' })}`,
      '1:27 a2a.agents[1].endpoint.time of agent "two": is unknown',
    ],
    [
      'of what lacks a key',
      agents({}, { id: 'two', endpoint: '{ <<: [{ timeout_seconds: 1 }] }' }),
      '12:17 a2a.agents[1].endpoint.url of agent "two": is missing',
    ],
    [
      'with an id that it merges',
      `x: &x { id: two }\n${agents({}, { id: undefined, '<<': '*x', name: '[]' })}`,
      '14:13 a2a.agents[1].name of agent "two": must be a text, got a list',
    ],
    [
      'of a tag',
      withSettings('{ a: [{ b: !env S3CRET }] }'),
      '13:33 a2a.agents[1].settings.a[0].b of agent "two": has a tag',
    ],
    [
      'of a key that is there twice',
      withSettings('{ a: [{ b: 1, b: 2 }] }'),
      '13:31 a2a.agents[1].settings.a[0] of agent "two": the key "b" is there already, in line 13',
    ],
    [
      'of an alias of nothing',
      withSettings('[a, *b]'),
      '13:21 a2a.agents[1].settings[1] of agent "two": is an alias of nothing',
    ],
    [
      'of two spellings of a setting',
      withSettings('{ assistant_id: a, assistantId: b }'),
      '13:49 a2a.agents[1].settings.assistantId of agent "two": is there already, in another spelling',
    ],
    [
      'without the value of a variable in its id',
      agents({ id: 'x-${ID}', name: '[]' }),
      '8:13 a2a.agents[0].name of agent "x-${ID}": must be a text, got a list',
    ],
  ])('%s', async (_name, text, message) => {
    const report = (await faultOf(text, { ID: 's3cret' })).message.slice('gateway.yaml:'.length)
    expect(report.slice(0, message.length)).toBe(message)
  })

  it.each([
    ['two', { agentVersion: 3 }, '14:51 a2a.agents[1].settings.agentVersion of agent "two": must be'],
    ['two', { background: 'x' }, '14:49 a2a.agents[1].settings.background of agent "two": must be'],
    ['two', { assistantId: 'x' }, '14:17 a2a.agents[1].settings.agent_name of agent "two": is missing'],
    ['two', { wrong_name: 1 }, '14:49 a2a.agents[1].settings.wrong_name of agent "two": is unknown'],
    ['one', {}, '4:11 a2a.agents[0].id of agent "one": is registered already'],
  ])('that a gateway finds: of agent %s with %j', async (taken, settings, message) => {
    const text = `# the settings are in line 14
${agents({}, { id: 'two', provider: 'azure_ai', settings: JSON.stringify({ api: 'responses', ...settings }) })}`
    const config = await loadGatewayConfig(text)
    const registry = new AgentRegistry({ onDuplicate: 'reject' })
    if (taken === 'one') for (const agent of config.agents) if (agent.id === 'one') registry.register(agent)
    const make = (): unknown =>
      A2AGateway.fromConfig(config, { registry, providers: { a2a: a2a(), azure_ai: azureAI() } })
    expect(make).toThrow(`gateway.yaml:${message.replace(/^4:/, '5:')}`)
  })
})

describe('a text that is not YAML, or too large,', () => {
  it.each([
    ['a quote that is not closed', 'a2a: { enabled: "s3cret', /^gateway.yaml:1:\d+ is not YAML: a quote/],
    [
      'a line that is indented wrongly',
      'a2a:\n    enabled: true\n  s3cret: 1',
      /^gateway.yaml:3:\d+ is not YAML/,
    ],
    ['tabs', 'a2a:\n\tenabled: true', /^gateway.yaml:2:1 is not YAML: tabs/],
    [
      'an item that is indented too little',
      'a2a:\n  agents:\n    - id: s3cret\n     provider: a2a',
      /^gateway.yaml:4:1 is not YAML: .* is missing, or it is not indented as what stands around it/,
    ],
    [
      'an item that is indented too much',
      'a2a:\n  agents:\n    - id: s3cret\n       provider: a2a',
      /^gateway.yaml:3:\d+ is not YAML: .* to be quoted, or a line here is not indented as those around it/,
    ],
    [
      'a bracket that is not closed',
      'a2a:\n  gateway: { s3cret: 1\n  agents: []',
      /^gateway.yaml:3:\d+ is not YAML: .* or a bracket before it is not closed/,
    ],
    [
      'a variable without quotes in brackets',
      'a2a: { s3cret: ${KEY} }',
      /^gateway.yaml:1:17 is not YAML: nothing can stand here; a text with { } or \[ \] is to be quoted/,
    ],
    [
      'a text where none can be',
      'a2a: "x" s3cret',
      /^gateway.yaml:1:\d+ is not YAML: nothing can stand here/,
    ],
    [
      'a colon without a blank',
      'a2a:\n  s3cret:1\n  b: 2',
      /^gateway.yaml:2:\d+ is not YAML: a colon is missing/,
    ],
    ['a sign of YAML', 'a2a: @s3cret', /^gateway.yaml:1:\d+ is not YAML: a text that begins with this sign/],
    ['a path of Windows', 'a2a: "C:\\s3cret"', /^gateway.yaml:1:\d+ is not YAML: in double quotes a \\ /],
    ['two without a comma', 'a2a: { a s3cret: 1\n  b: 2 }', /^gateway.yaml:\d:\d+ is not YAML/],
    [
      'a key twice',
      'a2a:\n  enabled: true\n  enabled: false',
      /^gateway.yaml:3:3 a2a: the key "enabled" is there already, in line 2$/,
    ],
    [
      'a section twice',
      'a2a: {}\nother: 1\na2a: {}',
      /^gateway.yaml:3:1 the key "a2a" is there already, in line 1$/,
    ],
    ['two documents', 'a2a: {}\n---\na2a: {}', /^gateway.yaml:2:1 begins a second document/],
    ['a key that is no text', 'a2a: { ? [s3cret] : 1 }', /^gateway.yaml:1:\d+ is a key that is not a string/],
    [
      'a tag of YAML',
      'a2a: { enabled: !!str true }',
      /^gateway.yaml:1:\d+ a2a.enabled: has a tag: tags are not taken/,
    ],
    ['an unknown tag', 'a2a: !env S3CRET', /^gateway.yaml:1:\d+ a2a: has a tag/],
    [
      'a merge of a text',
      'a2a: { <<: s3cret }',
      /^gateway.yaml:1:12 a2a.<<: must be a map, or a list of maps$/,
    ],
    ['a merge of nothing', 'a2a: { <<: }', /^gateway.yaml:1:12 a2a.<<: must be a map, or a list of maps$/],
    ['a merge of what it stands in', 'a2a: &x { <<: *x }', /^gateway.yaml:1:9 a2a.<<: contains itself$/],
    ['an alias of nothing', 'a2a: { agents: *x }', /is an alias of nothing that stands before it/],
    ['an alias of what it stands in', 'a2a: &x { gateway: *x }', /contains itself/],
    ['a depth without end', `a2a: ${'['.repeat(5_000)}`, /:1:2\d\d nests too deep/],
    ['a depth of lists in one line', `other: {}\nx:\n  ${'- '.repeat(300)}`, /:3:\d+ nests too deep/],
    ['a depth of keys in one line', '? '.repeat(300), /:1:\d+ nests too deep/],
    ['a depth of lines', lines(300), /:\d+:\d+ nests too deep/],
    ['a depth of its own', `a2a: { agents: ${'['.repeat(150)}${']'.repeat(150)} }`, /nests deeper than 100/],
    [
      'a chain of merges',
      `m0: &m0 {}\n${Array.from({ length: 1_000 }, (_, at) => `m${at + 1}: &m${at + 1} {<<: *m${at}}`).join('\n')}\na2a: {<<: *m1000}`,
      /nests deeper than 100/,
    ],
    ['a text without end', `a2a: {} # ${'x'.repeat(262_144)}`, /is longer than 262144 characters/],
  ])('%s, is refused', async (_name, text, message) => {
    const error = await faultOf(text)
    expect(error.message).toMatch(message)
    expect(error.cause).toBeUndefined()
    expect(inspect(error)).not.toMatch(/s3cret/i)
  })

  it('an alias of aliases of aliases, is not unfolded', async () => {
    const bomb = Array.from({ length: 50 }, (_, at) => `x${at + 1}: &x${at + 1} [*x${at}, *x${at}, *x${at}]`)
    const text = ['x0: &x0 [a]', ...bomb, agents({ settings: '{ boom: *x50 }' })].join('\n')
    expect((await faultOf(text)).message).toMatch(
      /a2a.agents\[0\].settings.boom.*: with its aliases, the file holds more than 100000 values/,
    )
    const unread = ['x0: &x0 [a]', ...bomb, agents({ capabilities: '*x50' })].join('\n')
    expect((await faultOf(unread)).message).toMatch(/must be a map, got a list/)
  })

  it('a map that many merge, is not copied for each of them', async () => {
    const keys = Array.from({ length: 5_000 }, (_, at) => `k${at}: 1`).join(', ')
    const all = Array.from({ length: 5_000 }, () => '{<<: *x}').join(', ')
    const text = `x: &x { ${keys} }\n${agents({ settings: `{ a: [${all}] }` })}`
    expect((await faultOf(text)).message).toMatch(
      /a2a.agents\[0\].settings.a\[20\].<< of agent "one": the file merges more than 100000 values/,
    )
  })

  it('a long list that many agents have, is not read for each of them', async () => {
    const names = `names: &names [${Array.from({ length: 10_000 }, (_, at) => `c${at}`).join(', ')}]`
    const many = agents(
      ...Array.from({ length: 1_000 }, (_, at) => ({ id: `a${at}`, capabilities: '*names' })),
    )
    expect((await faultOf(`${names}\n${many}`)).message).toMatch(/the file holds more than 100000 values/)
  })

  it('a chain of aliases, nests no deeper than what is written out', async () => {
    const links = Array.from(
      { length: 150 },
      (_, at) => `x${at + 1}: &x${at + 1} ${'['.repeat(80)}*x${at}${']'.repeat(80)}`,
    )
    // Each is short of the limit by itself when those before it are known.
    const all = Array.from({ length: 150 }, (_, at) => `k${at}: *x${at}`).join(', ')
    const text = ['x0: &x0 [a]', ...links, agents({ settings: `{ ${all} }` })].join('\n')
    expect((await faultOf(text)).message).toMatch(/nests deeper than 100/)
  })

  it.each([
    [
      'variables that are not closed',
      agents({ name: `"${'${a:-'.repeat(40_000)}"` }),
      /has \${ without a variable/,
    ],
    ['errors', agents({ settings: `{ a: [${'"a" "b" '.repeat(25_000)}] }` }), /is not YAML/],
  ])('many %s, are reported', async (_name, text, message) => {
    expect((await faultOf(text)).message).toMatch(message)
  })

  it('no text at all, is refused', async () => {
    // @ts-expect-error -- a file's bytes
    await expect(loadGatewayConfig(new Uint8Array([1]))).rejects.toThrow(/text must be the text of a file/)
    // @ts-expect-error -- a misspelt option
    await expect(loadGatewayConfig('a2a: {}', { environment: {} })).rejects.toThrow(
      /Unknown option "environment"/,
    )
  })
})

describe('secrets', () => {
  const auths = [
    '{ type: bearer, token: "${SECRET}" }',
    '{ type: bearer, token: s3cret }',
    '{ type: api_key, header: x-key, key: "${SECRET}" }',
    '{ type: oauth2, client_id: s3cret-id, client_secret: "${SECRET}", token_url: "https://auth.test/t", scope: s3cret }',
  ]

  it.each(auths)('of %s are not shown by the configuration', async (auth) => {
    const text = agents({ endpoint: `{ url: "https://one.test", auth: ${auth} }` })
    const config = await loadGatewayConfig(text, { env: { SECRET: 's3cret' } })
    expect(JSON.stringify(config)).not.toContain('s3cret')
    expect(inspect(config, { depth: Infinity, showHidden: true, getters: true })).not.toContain('s3cret')
    expect(config.agents[0]?.endpoint.auth).toBeDefined()
  })

  it.each([
    ['name', '"${SECRET}" x'],
    ['provider', '"${SECRET}"'],
    ['status', '"${SECRET}"'],
    ['capabilities', '"${SECRET}"'],
    ['max_concurrent_tasks', '"${SECRET}"'],
    ['endpoint', '{ url: "${SECRET}" }'],
    ['endpoint', '{ url: "https://user:${SECRET}@one.test" }'],
    ['endpoint', '{ url: "https://x", timeout_seconds: "${SECRET}" }'],
    ['endpoint', '{ url: "https://x", auth: { type: "${SECRET}", token: s3cret } }'],
    ['endpoint', '{ url: "https://x", auth: { type: bearer, token: "s3cret\\n" } }'],
    ['endpoint', '{ url: "https://x", auth: { type: bearer, token: [s3cret] } }'],
    ['endpoint', '{ url: "https://x", auth: { type: bearer, tokn: s3cret } }'],
    ['endpoint', '{ url: "https://x", auth: { type: bearer, token: s3cret-${} } }'],
    ['endpoint', '{ url: "https://x", auth: { type: api_key, header: "${SECRET} x", key: s3cret } }'],
    [
      'endpoint',
      '{ url: "https://x", auth: { type: oauth2, client_id: s3cret, client_secret: s3cret, token_url: "${SECRET}" } }',
    ],
  ])('are not shown by an error about %s: %s', async (key, value) => {
    const error = await faultOf(agents({ [key]: value }), { SECRET: 's3cret' })
    expect(inspect(error, { depth: Infinity, showHidden: true })).not.toContain('s3cret')
    expect(JSON.stringify(error.data)).not.toContain('s3cret')
  })
})
