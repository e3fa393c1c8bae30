/**
 * Unknown options: every public function refuses them. The type checker finds the functions, so that none is forgotten.
 */
import Database from 'libsql'
import * as z from 'zod'
import { describe, expect, test } from 'vitest'
import {
  buildAgentCardForAgent,
  lintAgentCard,
  signAgentCard,
  toolsToSkills,
  verifyAgentCard,
} from '../../src/agent-card/index.js'
import {
  A2AClient,
  AgentCardCache,
  clientCredentialsAuth,
  delegationTool,
  discoverAgent,
  fetchAgentCard,
  InvocationBudget,
  invokeRemoteAgent,
  RemoteAgent,
  urlGuard,
  verifyNotification,
} from '../../src/client/index.js'
import { createAgUiHandler } from '../../src/ag-ui/index.js'
import {
  agentModel,
  agentTool,
  aiSdk,
  langChain,
  langChainAgentTool,
  openAiAgents,
  openAiAgentTool,
} from '../../src/ai/index.js'
import { DurableTaskManager, memoryStore } from '../../src/durable/index.js'
import {
  a2a,
  A2AGateway,
  AgentRegistry,
  azureAI,
  bedrock,
  custom,
  gatewayRequestHandler,
  langGraph,
  loadGatewayConfig,
  pydanticAI,
  vertexAI,
} from '../../src/gateway/index.js'
import {
  A2AError,
  deadLetters,
  defineLifecycle,
  feed,
  fork,
  redriveAll,
  TaskManager,
} from '../../src/index.js'
import { createInspector } from '../../src/inspector/index.js'
import { createMcpHandler, mcpAgent, mcpTools, type McpClient } from '../../src/mcp/index.js'
import { fromAgentExecutor } from '../../src/migrate/index.js'
import {
  createInboundHandler,
  createTaskManagerHandler,
  LocalTaskManager,
  taskManagerFromEnvironment,
  corvid,
  kaos,
} from '../../src/compat/index.js'
import {
  createProducer,
  createRequestHandler,
  createSchedules,
  createWorker,
  SSEStream,
  type Run,
} from '../../src/server/index.js'
import { pinnedFetch, toNodeListener } from '../../src/server/node/index.js'
import { postgresStore } from '../../src/stores/postgres/index.js'
import { redisStore } from '../../src/stores/redis/index.js'
import { openTasks, sqliteStore } from '../../src/stores/sqlite/index.js'
import {
  instrumentClient,
  instrumentFetch,
  instrumentHandler,
  instrumentTasks,
} from '../../src/telemetry/index.js'
import { fakeAgent, testDispatch, testDurable, testTaskStore } from '../../src/testing/index.js'
import { v1 } from '../../src/wire/index.js'
import { optionParameters, type OptionParameter } from '../support/option-parameters.js'

/** A call of a function, with what its types allow for the other parameters. `unknown` is the parameter of the row. */
type Call = (unknown: never) => unknown

const url = 'https://agent.example'
const card = { name: 'Agent', url }
const execute = (): string => 'done'
const parts = [{ text: 'x' }]
const message = { role: 'user', parts } as const
/** Whatever the value is, its type fits. */
const any = (value: unknown): never => value as never

const agent = fakeAgent('done', {
  card: { capabilities: { extendedAgentCard: true, pushNotifications: true } },
})
const client = new A2AClient({ card: agent.card, fetch: agent.fetch, taskManager: new TaskManager() })
const gateway = new A2AGateway({ providers: {} })
const handler = createRequestHandler({ card, execute })
const sessions = new LocalTaskManager(execute)
const sessionHandler = createTaskManagerHandler({ card, taskManager: sessions })
const registered = { id: 'a', provider: 'custom', capabilities: ['x'], endpoint: { url } }
const agentRun: Run = any({ message: { messageId: 'm', role: 'user', parts: [] } })
const executor = { execute: () => Promise.resolve(), cancelTask: () => Promise.resolve() }

const mcpRun: Run = any({
  step: () => [],
  update: execute,
  requireInput: execute,
  approve: execute,
  sleep: execute,
})
const mcpClient: McpClient = any({
  ...{ request: execute, callTool: execute, getServerCapabilities: execute, close: execute },
})

const store = Object.assign(memoryStore(), { transact: () => Promise.resolve('committed') })
const fed = new TaskManager({ feedSize: 10 })
const shared = new DurableTaskManager({ store })
const leased = shared.lease({ onNews: execute, onLost: execute, onOrphan: execute })
const { id: held } = leased.createTask({ skill: 's' })

/** Functions that hand all their options on to another one. */
const ALIASES: Record<string, string> = { 'fakeAgent(1)': 'createRequestHandler' }

const FUNCTIONS: Record<string, Call> = {
  'deadLetters(1)': (of) => deadLetters(fed, of),
  'feed(1)': (of) => feed(fed, of),
  'fork(2)': (of) => withTask(fed, (id) => fork(fed, id, of)),
  'redriveAll(1)': (of) => redriveAll(fed, of),
  'a2a(0)': a2a,
  'azureAI(0)': azureAI,
  'bedrock(0)': bedrock,
  'buildAgentCardForAgent(1)': (of: object) =>
    buildAgentCardForAgent({ id: 'a', name: 'A' }, { url, preset: {}, ...of }),
  'clientCredentialsAuth(0)': clientCredentialsAuth,
  'corvid(0)': corvid,
  'createInboundHandler(1)': (of) => createInboundHandler(any(inbound), of),
  'createAgUiHandler(1)': (options) => createAgUiHandler(() => new Response(), options),
  'createInspector(0)': createInspector,
  'createMcpHandler(1)': (options) => createMcpHandler(() => new Response(), options),
  'mcpAgent(1)': (of: object) => mcpAgent(any({}), { card, ...of }),
  'mcpTools(2)': (of) => mcpTools(mcpRun, mcpClient, of),
  'McpTools.call(2)': async (of) => (await mcpTools(mcpRun, mcpClient)).call('x', {}, of),
  'createProducer(0)': (of: object) => createProducer({ card, tasks: shared, ...of }),
  'createSchedules(0)': (of: object) =>
    createSchedules({ card, tasks: shared, schedules: { a: { everyMs: 1_000, message: 'x' } }, ...of }),
  'createWorker(0)': (of: object) => createWorker({ card, execute, tasks: shared, ...of }),
  'createRequestHandler(0)': (of: object) => createRequestHandler({ card, execute, ...of }),
  'createTaskManagerHandler(0)': (of: object) =>
    createTaskManagerHandler({ card, taskManager: sessions, ...of }),
  'custom(0)': (of: object) => custom({ run: execute, ...of }),
  'defineLifecycle(1)': (of) => defineLifecycle({ open: ['done'], done: [] }, of),
  'delegationTool(1)': (of) => delegationTool(new RemoteAgent({ name: 'a', cardUrl: url }), of),
  'discoverAgent(1)': (of) => discoverAgent(url, of),
  'fakeAgent(1)': (of) => fakeAgent('done', of),
  'fetchAgentCard(1)': (of) => fetchAgentCard(url, of),
  'fromAgentExecutor(1)': (of) => fromAgentExecutor(executor, of),
  'gatewayRequestHandler(1)': (of) => gatewayRequestHandler(gateway, of),
  'instrumentClient(1)': (of) => instrumentClient(client, of),
  'instrumentFetch(1)': (of) => instrumentFetch(agent.fetch, of),
  'instrumentHandler(1)': (of) => instrumentHandler(handler, of),
  'instrumentTasks(1)': (of) => instrumentTasks(new TaskManager(), of),
  'invokeRemoteAgent(2)': (of) => invokeRemoteAgent(url, 'x', of),
  'kaos(0)': kaos,
  'langGraph(0)': langGraph,
  'lintAgentCard(1)': (of) => lintAgentCard(card, of),
  'loadGatewayConfig(1)': (of) => loadGatewayConfig('a2a: {}', of),
  'memoryStore(0)': memoryStore,
  'openTasks(1)': (of) => openTasks(new Database(':memory:'), of),
  'pinnedFetch(0)': pinnedFetch,
  'postgresStore(1)': (of) => postgresStore(any({ query: execute }), of),
  'pydanticAI(0)': pydanticAI,
  'redisStore(1)': (of) => redisStore(any({ sendCommand: execute }), of),
  'signAgentCard(1)': (of) => signAgentCard(agent.card, of),
  'sqliteStore(1)': (of) => sqliteStore(any({ prepare: execute, exec: execute }), of),
  'taskManagerFromEnvironment(1)': (of) => taskManagerFromEnvironment(execute, of),
  'agentModel(1)': (of) => agentModel(client, of),
  'agentTool(1)': (of) => agentTool(client, of),
  'langChainAgentTool(1)': (of) => langChainAgentTool(client, of),
  'openAiAgentTool(1)': (of) => openAiAgentTool(client, of),
  'aiSdk(1)': (of) => aiSdk(agentRun, of),
  'AiSdk.approval(1)': (of) => aiSdk(agentRun).approval({}, of),
  'AiSdk.messages(0)': (of) => aiSdk(agentRun).messages(of),
  'AiSdk.model(1)': (of) => aiSdk(agentRun).model(any({}), of),
  'langChain(1)': (of) => langChain(agentRun, of),
  'LangChain.finish(2)': (of) => langChain(agentRun).finish({ invoke: any(execute) }, {}, of),
  'LangChain.messages(0)': (of) => langChain(agentRun).messages(of),
  'LangChain.model(1)': (of) => langChain(agentRun).model({}, of),
  'openAiAgents(1)': (of) => openAiAgents(agentRun, of),
  'OpenAiAgents.messages(0)': (of) => openAiAgents(agentRun).messages(of),
  'OpenAiAgents.model(1)': (of) => openAiAgents(agentRun).model(any({}), of),
  'OpenAiAgents.tools(1)': (of) => openAiAgents(agentRun).tools([], of),
  'testDispatch(0)': (of: object) => testDispatch({ test: execute, create: any(execute), ...of }),
  'testDurable(1)': (of: object) => testDurable(execute, { messages: ['x'], ...of }),
  'testTaskStore(0)': (of: object) =>
    testTaskStore({ test: execute, create: any(execute), supports: { hints: false, reopen: false }, ...of }),
  'toNodeListener(1)': (of) => toNodeListener(handler.fetch, of),
  'toolsToSkills(1)': (of) => toolsToSkills(['search'], of),
  'urlGuard(0)': urlGuard,
  'v1(0)': v1,
  'verifyAgentCard(1)': (of) => verifyAgentCard(agent.card, of),
  'verifyNotification(1)': (of) => verifyNotification(new Request(url), of),
  'vertexAI(0)': vertexAI,
}

const inbound = {
  db: {},
  processManager: { startProcess: execute, subscribe: execute, unsubscribe: execute, stopProcess: execute },
  listAgents: () => [],
  createSession: execute,
}

const CONSTRUCTORS: Record<string, Call> = {
  'new A2AClient(0)': (of) => new A2AClient(of),
  'new A2AGateway(0)': (of: object) => new A2AGateway({ providers: {}, ...of }),
  'new AgentCardCache(0)': (of) => new AgentCardCache(of),
  'new AgentRegistry(0)': (of) => new AgentRegistry(of),
  'new DurableTaskManager(0)': (of: object) => new DurableTaskManager({ store: memoryStore(), ...of }),
  'new InvocationBudget(0)': (of) => new InvocationBudget(of),
  'new LocalTaskManager(1)': (of) => new LocalTaskManager(execute, of),
  'new RemoteAgent(0)': (of: object) => new RemoteAgent({ name: 'a', cardUrl: url, ...of }),
  'new SSEStream(0)': (of) => new SSEStream(of),
  'new TaskManager(0)': (of) => new TaskManager(of),
}

const METHODS: Record<string, Call> = {
  'A2AClient.cancelTask(1)': (of) => client.cancelTask('t', of),
  'A2AClient.connect(1)': (of) => A2AClient.connect(url, of),
  'A2AClient.createPushConfig(1)': (of: object) => client.createPushConfig('t', { url, ...of }),
  'A2AClient.createPushConfig(2)': (of) => client.createPushConfig('t', { url }, of),
  'A2AClient.deletePushConfig(2)': (of) => client.deletePushConfig('t', 'p', of),
  'A2AClient.getExtendedAgentCard(0)': (of) => client.getExtendedAgentCard(of),
  'A2AClient.getPushConfig(2)': (of) => client.getPushConfig('t', 'p', of),
  'A2AClient.getTask(1)': (of) => client.getTask('t', of),
  'A2AClient.listPushConfigs(1)': (of) => client.listPushConfigs('t', of),
  'A2AClient.listTasks(0)': (of) => client.listTasks(of),
  'A2AClient.resume(1)': (of) => client.resume({ taskId: 't', messageId: 'm' }, of),
  'A2AClient.run(1)': (of) => client.run('x', of),
  'A2AClient.send(1)': (of) => client.send('x', of),
  'A2AClient.sendTask(2)': (of) => client.sendTask(url, 't', of),
  'A2AClient.stream(1)': (of) => client.stream('x', of),
  'A2AClient.subscribe(1)': (of) => client.subscribe('t', of),
  'A2AGateway.cancelTask(1)': (of) => gateway.cancelTask('t', of),
  'A2AGateway.close(0)': (of) => new A2AGateway({ providers: {} }).close(of),
  'A2AGateway.findAgentForTask(0)': (of) => gateway.findAgentForTask(of),
  'A2AGateway.fromConfig(1)': async (of: object) =>
    A2AGateway.fromConfig(await loadGatewayConfig('a2a: {}'), { providers: {}, ...of }),
  'A2AGateway.getTask(1)': (of) => gateway.getTask('t', of),
  'A2AGateway.openHandle(1)': (of) => gateway.openHandle('t', of),
  'A2AGateway.resume(1)': (of) => gateway.resume('t', of),
  'A2AGateway.sendTask(1)': (of: object) => gateway.sendTask('a', { parts, ...of }),
  'A2AGateway.sendTask(2)': (of) => gateway.sendTask('a', 'x', of),
  'A2AGateway.streamTask(1)': (of: object) => gateway.streamTask('a', { parts, ...of }),
  'A2AGateway.streamTask(2)': (of) => gateway.streamTask('a', 'x', of),
  'A2AGateway.subscribe(1)': (of) => gateway.subscribe('t', of),
  'A2AGateway.workOn(2)': (of: object) =>
    gateway.workOn('a', any(message), { open: execute, signal: new AbortController().signal, ...of }),
  'AgentRegistry.find(0)': (of) => gateway.registry.find(of),
  'AgentRegistry.register(0)': (of: object) => gateway.registry.register({ ...registered, ...of }),
  'AgentRegistry.registerReachable(0)': (of: object) =>
    gateway.registry.registerReachable({ ...registered, ...of }),
  'LocalTaskManager.sendMessage(1)': (of) => sessions.sendMessage('x', of),
  'LocalTaskManager.shutdown(0)': (of) => sessions.shutdown(of),
  'LocalTaskManager.waitForCompletion(1)': (of) => sessions.waitForCompletion('t', of),
  'ObservedAgent.dispatch(1)': (of) => instrumentHandler(handler).dispatch({}, of),
  'DelegationTool.execute(1)': (of) =>
    delegationTool(new RemoteAgent({ name: 'a', cardUrl: url })).execute({ task: 'x' }, of),
  'RemoteAgent.processMessage(1)': (of) =>
    new RemoteAgent({ name: 'a', cardUrl: url }).processMessage([], of),
  'RequestHandler.close(0)': (of) => handler.close(of),
  'Worker.close(0)': (of) => createWorker({ card, execute, tasks: shared }).close(of),
  'Producer.send(0)': (of: object) => createProducer({ card, tasks: shared }).send({ parts, ...of }),
  'Producer.send(1)': (of) => createProducer({ card, tasks: shared }).send('x', of),
  'Producer.signal(3)': (of) => createProducer({ card, tasks: shared }).signal('t', 'x', 1, of),
  'RequestHandler.dispatch(1)': (of) => handler.dispatch({}, of),
  'SSEStream.response(0)': (of) => new SSEStream().response(of),
  'TaskManagerHandler.close(0)': (of) => sessionHandler.close(of),
  'TaskManagerHandler.dispatch(1)': (of) => sessionHandler.dispatch({}, of),
  'LeasedTasks.addMessage(2)': (of) => leased.addMessage(held, message, of),
  'LeasedTasks.appendArtifact(2)': (of) => leased.appendArtifact(held, { parts }, of),
  'LeasedTasks.createTask(0)': (of: object) => leased.createTask({ skill: 's', ...of }),
  'LeasedTasks.finish(1)': (of) => leased.finish(held, of),
  'LeasedTasks.patchTask(1)': (of) => leased.patchTask(held, of),
  'DurableTaskManager.archive(0)': (of: object) =>
    shared.archive({ olderThanMs: 0, write: any(execute), ...of }),
  ...methodsOfTasks('TaskManager', fed),
  ...methodsOfTasks('DurableTaskManager', new DurableTaskManager({ store: memoryStore() })),
}

function methodsOfTasks(
  name: 'TaskManager' | 'DurableTaskManager',
  tasks: TaskManager | DurableTaskManager,
): Record<string, Call> {
  const rows: Record<string, Call> = {
    'createTask(0)': (of: object) => tasks.createTask({ skill: 's', ...of }),
    'updateTask(1)': (of) => tasks.updateTask('t', of),
    'patchTask(1)': (of) => tasks.patchTask('t', of),
    'cancelTask(1)': (of) => tasks.cancelTask('t', of),
    'appendArtifact(2)': (of) => tasks.appendArtifact('t', { parts }, of),
    'addMessage(2)': (of) => tasks.addMessage('t', message, of),
    'peekTask(1)': (of) => withTask(tasks, (id) => tasks.peekTask(id, of)),
    'listTasks(0)': (of) => tasks.listTasks(of),
    'pageTasks(0)': (of) => tasks.pageTasks(of),
    'countTasks(0)': (of) => tasks.countTasks(of),
    'events(1)': (of) => withTask(tasks, (id) => tasks.events(id, of)),
    'subscribe(1)': (of) => withTask(tasks, (id) => tasks.subscribe(id, of)),
    'waitFor(1)': (of) => withTask(tasks, (id) => tasks.waitFor(id, of)),
  }
  return Object.fromEntries(Object.entries(rows).map(([key, call]) => [`${name}.${key}`, call]))
}

async function withTask(
  tasks: TaskManager | DurableTaskManager,
  work: (id: string) => unknown,
): Promise<unknown> {
  const { id } = await tasks.createTask({ skill: 's' })
  return await settled(work(id))
}

/** Calls within a run: its error becomes that of the call. */
const RUN: Record<string, (run: Run, unknown: never) => unknown> = {
  'Run.authorize(1)': (run, of: object) =>
    run.authorize('a', { url: 'https://login.example', message: 'x', ...of }),
  'Run.approve(1)': (run, of: object) => run.approve('a', { message: 'x', ...of }),
  'Run.artifact(1)': (run, of) => run.artifact('x', of),
  'Run.ask(1)': (run, of) => run.ask({ a: { message: 'x', schema: z.string() } }, of),
  'Run.delegate(3)': (run, of) => run.delegate('d', client, 'x', of),
  'Run.conversation(0)': (run, of) => run.conversation(of),
  'Run.lineageTo(1)': (run, of) => run.lineageTo(url, of),
  'Run.requireInput(1)': (run, of: object) => run.requireInput('x', { schema: z.string(), ...of }),
  'Run.sleep(1)': (run, of: object) => run.sleep('s', { ms: 1, ...of }),
  'Run.step(2)': (run, of) => run.step('s', execute, of),
  'Run.transaction(2)': (run, of) => run.transaction('s', execute, of),
  'Run.update(0)': (run, of: object) => run.update({ message: 'x', ...of }),
  'Run.waitFor(1)': (run, of) => run.waitFor('s', of),
}

function inRun(work: (run: Run, unknown: never) => unknown): Call {
  return async (unknown) => {
    let error: Error | undefined
    const script = async (run: Run): Promise<void> => {
      try {
        await work(run, unknown)
      } catch (thrown) {
        // Every method of a run throws errors.
        error = thrown as Error
      }
    }
    // Over a store with transactions, which no memory has.
    const { fetch, card: itsCard } = fakeAgent(script, { tasks: shared })
    await new A2AClient({ card: itsCard, fetch }).run('go')
    if (error !== undefined) throw error
  }
}

const ROWS: Record<string, Call> = {
  ...FUNCTIONS,
  ...CONSTRUCTORS,
  ...METHODS,
  ...Object.fromEntries(Object.entries(RUN).map(([key, work]) => [key, inRun(work)])),
}

/** Parameters that are no options, by their functions or their types, and why. */
const NO_OPTIONS: readonly (readonly [pattern: RegExp, reason: string])[] = [
  [
    /^(SharedTasks|LocalTasks)\.|^SessionTaskManager\.|^LineageSource\./,
    'an interface of TaskManager and DurableTaskManager, LocalTaskManager or a run, which have rows',
  ],
  [/^(children|deadLetters|redrive|redriveAll)\(0\)/, 'a manager, which has documents over a store'],
  [/^(TaskStore|SqliteStore|PostgresStore|RedisStore)\./, 'the manager calls its store'],
  [/^(Dialect|Codec|ClientCodec)\./, 'a handler or a client calls its dialect'],
  [
    /^(answersIn|awaitedOthersOf|openQuestionsOf|questionsIn|valueFromText|wantedBy)\(0\)/,
    'a message, a task or a form',
  ],
  [/^(Run\.spend|spendingOf)\(0\)/, 'amounts in units of any name, or a task'],
  [
    /^AiSdk\.approval\(\)\(0\)|^(AiSdk|LangChain|OpenAiAgents)\.finish\(0\)|^toolCall(Parts|sIn)\(0\)/,
    'a call, a result or a message',
  ],
  [/^AgentProvider\./, 'the gateway calls its provider'],
  [
    /^(mcpAgent\(0\)|mcpTools\(1\)|Mcp(AiSdk|LangChain|OpenAi)Tool\b|McpTools\.langChain)/,
    'a client of MCP, and the framework calls the tool',
  ],
  [
    /^((Open|Lang)\w+)?AgentTool\.|^(AgentModel|A2AChatTransport)\.|^langChainAgentTool\(\)/,
    'the framework calls the tool, model or transport',
  ],
  [
    / (HandlerObserver|TasksObserver|LeasedTasksListener|NodeResponse|IoRedisClient, [\w, ]*)$/,
    'an object of the user with methods',
  ],
  [/^(HandlerObserver|\w+Follower|TasksObserver|LeasedTasksListener)\./, 'the library notifies an observer'],
  [
    /^\w+(\.\w+)?\(listener\)|^(WaitOptions|RedriveQuery|DelegateOptions|AgentToolOptions|RunOptions)\.|limitForks/,
    'the library calls it',
  ],
  [
    / (ObservableHandler|LocalTasks, SharedTasks|PgPool, PostgresJsSql|PgClient|A2ATaskDeps)$/,
    'a client or manager',
  ],
  [
    / (TaskSnapshot|TaskCreated, StatusChanged|RegisteredAgent|Lifecycle|RunHandle)$/,
    'the library has made it',
  ],
  [/ (JournalChange)$|^LeasedTasks\.transact/, 'the entries of a handler'],
  [/ (MessageInput|MessageContent|ArtifactInput)$/, 'a message or artifact: see misspelt-keys.test.ts'],
  [/^Run\.(requireInput|requireAuth|complete|fail|reject|cancel|reply|continueAs)\(0\)/, 'a message'],
  [/^Run\.delegate\(2\)|^A2AGateway\.workOn\(1\)|^textOf/, 'a message'],
  [/^(toV03Card|toHybridCard|signAgentCard|buildAgentCard|new AgentCard)\(0\)/, 'a card: see there too'],
  [/ AgentRecord$/, 'a row of a database'],
  [/ Turn$/, 'a turn, as a queue delivers it'],
  [/ A2ATaskSendRequest, /, 'the JSON of a request, of any version of the peer'],
  [/^new \w+Error\(|^decodeError|^providerError/, 'facts about a failure, which an error must not hide'],
]

/** Properties of options that hold no options. */
const NO_GROUPS: readonly (readonly [names: readonly string[], reason: string])[] = [
  [
    ['auth', 'clock', 'listen', 'store', 'taskManager', 'tasks', 'handler'],
    'objects of the user with methods',
  ],
  [['key'], 'a key of jose'],
  [['persona'], 'a row of a database'],
  [['handle', 'message', 'repeats'], 'data that the library has made, or a message'],
]

/** What a group must have, so that nothing else is wrong. */
const NEEDED: Record<string, object> = { card, extendedCard: card, endpoint: { url }, pushConfig: { url } }

const found = optionParameters()
const textOfParameter = ({ key, types }: OptionParameter): string => `${key} ${types.join(', ')}`
const isOption = (one: OptionParameter): boolean =>
  !NO_OPTIONS.some(([pattern]) => pattern.test(textOfParameter(one)))
const groupsOf = (key: string): readonly string[] =>
  (found.find((one) => one.key === key)?.groups ?? []).filter(
    (group) => !NO_GROUPS.some(([names]) => names.includes(group)),
  )

test('every function with options has a row, and every row a function', () => {
  const expected = found.filter(isOption).map(({ key }) => key)
  expect(expected.sort()).toEqual(Object.keys(ROWS).sort())
})

test('every exception is of use', () => {
  const unused = NO_OPTIONS.filter(([pattern]) => !found.some((one) => pattern.test(textOfParameter(one))))
  expect(unused).toEqual([])
  const groups = new Set(found.filter(isOption).flatMap((one) => one.groups))
  expect(NO_GROUPS.flatMap(([names]) => names).filter((name) => !groups.has(name))).toEqual([])
})

describe('an unknown option is refused by', () => {
  test.each(Object.entries(ROWS))('%s', async (key, call) => {
    const error = await errorOf(() => call(any({ noSuchOption: undefined })))
    expect(error instanceof TypeError || A2AError.is(error, 'INVALID_PARAMS'), String(error)).toBe(true)
    const name = ALIASES[key] ?? key.replace(/^new |\(\d\)$/g, '').replace(/^.*\./, '')
    expect(String(error)).toMatch(/"(\w+\.)?noSuchOption"/)
    expect(String(error)).toMatch(new RegExp(`\\b${name}\\b`))
    expect(String(error)).toMatch(/; known are \w+/)
  })

  const groups = Object.entries(ROWS).flatMap(([key, call]) =>
    groupsOf(key).map((group) => [key, group, call] as const),
  )
  test.each(groups)('%s in %s', async (_, group, call) => {
    const error = await errorOf(() => call(any({ [group]: { ...NEEDED[group], noSuchOption: undefined } })))
    expect(error instanceof TypeError || A2AError.is(error, 'INVALID_PARAMS'), String(error)).toBe(true)
    expect(String(error)).toMatch(/noSuchOption"?.*; known are \w+/)
  })
})

test.each<[string, unknown, (run: Run, unknown: never) => unknown]>([
  ['requireAuth', { timeoutMs: 5 }, (run, other) => ask(run.requireAuth, other)],
  ['update', { current: 1 }, (run, other) => ask(run.update, other)],
])('run.%s refuses a second argument: %j', async (name, other, work) => {
  const error = await errorOf(() => inRun(work)(any(other)))
  expect(error).toBeInstanceOf(TypeError)
  expect(String(error)).toContain(`run.${name}() takes one argument and no options, got `)
})

test('run.update can be passed to forEach', async () => {
  expect(
    await errorOf(() => inRun((run) => ['Reading', 'Writing'].forEach(run.update))(any({}))),
  ).toBeUndefined()
})

/** Calls with an argument too many. */
function ask(method: (text: string) => unknown, other: never): unknown {
  return (method as (...given: unknown[]) => unknown)('x', other)
}

async function errorOf(call: () => unknown): Promise<unknown> {
  try {
    await settled(call())
  } catch (error) {
    return error
  }
  return undefined
}

/** The result of a call, or the first element of what it yields. */
async function settled(result: unknown): Promise<unknown> {
  const isIterable = typeof result === 'object' && result !== null && Symbol.asyncIterator in result
  if (!isIterable || 'then' in result) return await result
  return await (result as AsyncIterable<unknown>)[Symbol.asyncIterator]().next()
}
