/** Known gaps of the peers. */
import type { ErrorCode } from 'a2a-tasks'

export const PEER_NAMES = [
  'SDK 1.3.0, A2A 1.0 over JSONRPC',
  'SDK 1.3.0, A2A 1.0 over HTTP+JSON',
  'SDK 1.3.0, A2A 0.3 over JSONRPC',
  'SDK 1.3.0, A2A 0.3 over HTTP+JSON',
  'SDK 0.3.14, A2A 0.3 over JSONRPC',
  'SDK 0.3.14, A2A 0.3 over HTTP+JSON',
  'a2a-tasks, A2A 1.0 over JSONRPC',
  'a2a-tasks, A2A 1.0 over HTTP+JSON',
  'a2a-tasks, A2A 0.3 over JSONRPC',
  'a2a-tasks, A2A 0.3 over HTTP+JSON',
] as const

export type PeerName = (typeof PEER_NAMES)[number]

/** Reason why a peer cannot do it, and the error that the client receives instead. */
export interface Gap {
  readonly reason: string
  readonly code: ErrorCode
}

type Row = { readonly [N in PeerName]?: Gap }

/** The rows of one reason. */
function gap(names: readonly PeerName[], reason: string, code: ErrorCode): Row {
  return Object.fromEntries(names.map((name) => [name, { reason, code }]))
}

const V03_RPC = PEER_NAMES.filter((name) => name.endsWith('0.3 over JSONRPC'))
const OWN = PEER_NAMES.filter((name) => name.startsWith('a2a-tasks'))

const NO_LIST: Row = {
  ...gap(V03_RPC, 'A2A 0.3 has tasks/list over HTTP+JSON only', 'UNSUPPORTED_OPERATION'),
  ...gap(
    ['SDK 1.3.0, A2A 0.3 over HTTP+JSON'],
    'it reads /v1/tasks as a path of 1.0, of a tenant "v1"',
    'INVALID_AGENT_RESPONSE',
  ),
  ...gap(['SDK 0.3.14, A2A 0.3 over HTTP+JSON'], 'it has no such path', 'EXTERNAL_SERVICE_ERROR'),
}
const NO_PUSH = gap(OWN, 'our handler sends none', 'PUSH_NOTIFICATION_NOT_SUPPORTED')

const ROWS = {
  'a message is answered with a task': {},
  'a message is answered with a message': {},
  'a task that works comes back at once': {},
  'a stream has every kind of event': {},
  'a stream of a reply': {},
  'a stream that is left': {},
  'getTask with historyLength': {},
  'a task is canceled': {},
  'subscribe to a task that works': {},
  'a question is answered by taskId': {},
  'a question is answered in a stream': {},
  'states that end': {},
  'parts of every kind, both ways': {},
  'metadata and referenceTaskIds arrive': {},
  'metadata of the request arrives': {},
  'extensions in the header': {},
  'a tenant': {},
  'listTasks, its pages': NO_LIST,
  'listTasks, its filters': NO_LIST,
  'push configurations': NO_PUSH,
  'a push configuration with the message': NO_PUSH,
  'the extended card': {},
  'run by stream': {},
  'run by polling': {},
  'run of a reply': {},
  'run with onInputRequired': {},
  'run that is aborted cancels the task': {},
  'resume by another client': {},
  'resume while the task works': {},
  'connect by URL': {},
} satisfies Record<string, Row>

export type Feature = keyof typeof ROWS

export const GAPS: { readonly [F in Feature]: Row } = ROWS

type Losses = { readonly [N in PeerName]?: string }

function loss(names: readonly PeerName[], reason: string): Losses {
  return Object.fromEntries(names.map((name) => [name, reason]))
}

const V03 = PEER_NAMES.filter((name) => name.includes('0.3 over'))
const V03_REST = V03.filter((name) => name.endsWith('HTTP+JSON'))
const LEGACY = V03.filter((name) => name.startsWith('SDK 0.3.14'))

/** Features that peers support in part: the tests of these rows expect exactly that much. */
export const LOSSES: { readonly [F in Feature]?: Losses } = {
  'getTask with historyLength': loss(LEGACY, 'without one it tells no message'),
  'parts of every kind, both ways': loss(
    V03_REST.filter((name) => name.startsWith('SDK')),
    'it drops the metadata of parts and the names of files',
  ),
  'metadata and referenceTaskIds arrive': loss(V03_REST, 'the proto of 0.3 has no referenceTaskIds'),
  'metadata of the request arrives': loss(LEGACY, 'its agents do not receive it'),
  'a tenant': loss(V03, 'A2A 0.3 has none'),
  'listTasks, its pages': loss(V03_REST, 'A2A 0.3 answers with a list: there is no next page, and no total'),
}
