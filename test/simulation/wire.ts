/** What a client of the protocol receives, and the task that it assembles from it. */
interface Part {
  readonly text?: string
}

export interface Artifact {
  readonly artifactId: string
  readonly parts: readonly Part[]
}

export interface Status {
  readonly state: string
  readonly message?: { readonly messageId: string; readonly parts: readonly Part[] }
}

interface WireTask {
  readonly id: string
  readonly status: Status
  readonly artifacts?: readonly Artifact[]
  readonly metadata?: Readonly<Record<string, unknown>>
}

/** A task as a client knows it. */
export type SeenTask = Required<WireTask>

interface Chunk {
  readonly artifact: Artifact
  readonly append?: boolean
}

/** A response of JSON-RPC. */
export interface Answer {
  readonly result?: {
    readonly task?: WireTask
    readonly statusUpdate?: { readonly status: Status; readonly metadata?: WireTask['metadata'] }
    readonly artifactUpdate?: Chunk
  }
  readonly error?: { readonly message: string }
}

const ENDED = ['TASK_STATE_COMPLETED', 'TASK_STATE_FAILED', 'TASK_STATE_CANCELED', 'TASK_STATE_REJECTED']

export function hasEnded({ status }: SeenTask): boolean {
  return ENDED.includes(status.state)
}

/** The task after what has just been received. */
export function fold(task: SeenTask | undefined, { result = {} }: Answer): SeenTask | undefined {
  if (result.task !== undefined) return { artifacts: [], metadata: {}, ...result.task }
  if (task === undefined) return undefined
  if (result.statusUpdate !== undefined) {
    const { status, metadata } = result.statusUpdate
    return { ...task, status, metadata: { ...task.metadata, ...metadata } }
  }
  if (result.artifactUpdate === undefined) return task
  return { ...task, artifacts: withChunk(task.artifacts, result.artifactUpdate) }
}

function withChunk(artifacts: readonly Artifact[], { artifact, append }: Chunk): Artifact[] {
  const known = artifacts.find(({ artifactId }) => artifactId === artifact.artifactId)
  if (known === undefined) return [...artifacts, artifact]
  const next = append === true ? { ...known, parts: [...known.parts, ...artifact.parts] } : artifact
  return artifacts.map((each) => (each === known ? next : each))
}

/** The texts of the parts, joined. */
export function textIn({ parts }: { readonly parts: readonly Part[] }): string {
  return parts.map(({ text = '' }) => text).join('')
}

export function rpc(method: string, params: object): object {
  return { jsonrpc: '2.0', id: 1, method, params }
}

/** The answer to `GetTask`, whose result is the task itself. */
export function taskIn(answer: object | undefined): Answer {
  const { result } = (answer ?? {}) as { readonly result?: WireTask }
  return result === undefined ? {} : { result: { task: result } }
}
