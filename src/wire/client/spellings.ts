/**
 * Spellings of agents' responses: A2A 1.0, the JSON of 0.3, and its ProtoJSON.
 *
 * One table serves all three, because agents mix them: a card of 1.0 may come with parts that have a `kind`. Only the
 * data of parts, which would be ambiguous, is read by the version of the interface. Ids may be missing in 0.3 only.
 *
 * @module
 */
import { invalidParams } from '../../core/errors.js'
import type { JsonObject } from '../../core/json-types.js'
import { describe } from '../../runtime/describe.js'
import { isRecord, type Unread } from '../../runtime/unread.js'
import { strings } from '../../schemas/scalars.js'
import { validate } from '../check.js'
import { pathText, type Field, type Path, type Spelling } from '../normalize.js'
import { fromData } from '../v0-3/forms.js'
import { ROLES, STATES, TASK_STATES } from '../v1/objects.js'
import { withArtifactId, withMessageId } from './missing.js'

const ID: Field = { isId: true }
const FILLED: Field = { isEmptyTextAbsent: true }

const ROLE: Field = {
  values: new Map([
    ['user', ROLES.user],
    ['agent', ROLES.agent],
  ]),
}

const STATE: Field = {
  values: new Map([
    ...TASK_STATES.map((state): [string, string] => [state, STATES[state]]),
    ['cancelled', STATES.canceled],
    ['TASK_STATE_CANCELLED', STATES.canceled],
    // The agent does not know the state, so the task counts as not ended.
    ['unknown', STATES.working],
    ['TASK_STATE_UNSPECIFIED', STATES.working],
  ]),
}

const CONTENTS = ['text', 'raw', 'url', 'data', 'file']

const PART_FIELDS = { data: { isNullable: true }, filename: FILLED, mediaType: FILLED }

/** `null` is a value only for `data`, and only when the part has no other content. */
function rewritePart(part: Unread, path: Path): Unread {
  if (part['data'] !== null && part['file'] == null) return part
  const contents = CONTENTS.filter((name) => part[name] != null)
  const { file, ...others } = part
  if (file == null) return contents.length > 0 ? { ...part, data: undefined } : part
  if (contents.length > 1) {
    const reason = `must have exactly one of text, raw, url and data, got ${contents.join(', ')}`
    throw invalidParams(pathText(path), reason)
  }
  return { ...others, data: undefined, ...fromFile(file, [...path, 'file']) }
}

/** Reads the `file` of a part of 0.3. In 1.0 its content, name and media type are fields of the part. */
function fromFile(file: unknown, path: Path): Unread {
  if (!isRecord(file)) throw notAnObject(file, path)
  const raw = textOf(file, 'bytes', path) ?? textOf(file, 'fileWithBytes', path)
  const url = textOf(file, 'uri', path) ?? textOf(file, 'fileWithUri', path)
  const name = textOf(file, 'name', path)
  const mimeType = textOf(file, 'mimeType', path)
  if (url === undefined && raw === undefined) {
    throw invalidParams(pathText(path), 'must have a uri or bytes')
  }
  return {
    ...(url === undefined ? { raw } : { url }),
    ...(!isEmpty(name) && { filename: name }),
    ...(!isEmpty(mimeType) && { mediaType: mimeType }),
  }
}

/** Checks a field of another version, which no schema of 1.0 validates. */
function textOf(object: Unread, name: string, path: Path): string | undefined {
  const value = object[name] ?? undefined
  if (value === undefined || typeof value === 'string') return value
  throw invalidParams(pathText([...path, name]), `must be a string, got ${describe(value)}`)
}

function notAnObject(value: unknown, path: Path): Error {
  return invalidParams(pathText(path), `must be an object, got ${describe(value)}`)
}

function isEmpty(value: unknown): boolean {
  return value == null || value === ''
}

/** The data of a part of 0.3 is an object. Other data is wrapped in one, and ProtoJSON wraps it once more. */
function rewriteOldPart(given: Unread, path: Path): Unread {
  const part = rewritePart(given, path)
  const { data, metadata, ...others } = part
  if (data == null || (metadata != null && !isRecord(metadata))) return part
  if (!isRecord(data)) throw notAnObject(data, [...path, 'data'])
  // Both values come from JSON.
  const [object, about] = [data, metadata ?? undefined] as [JsonObject, JsonObject | undefined]
  return {
    ...others,
    // Only files have them in 0.3.
    filename: undefined,
    mediaType: undefined,
    ...fromData(object, about, part['kind'] == null),
  }
}

/** The spellings of the objects that a client reads, in one version. */
export interface Spellings {
  readonly message: Spelling
  readonly task: Spelling
  readonly statusUpdate: Spelling
  readonly artifactUpdate: Spelling
  readonly taskPage: Spelling
}

type Rewrite = NonNullable<Spelling['rewrite']>

function spellingsOf(
  rewrite: Rewrite,
  ids: { readonly message?: Rewrite; readonly artifact?: Rewrite } = {},
): Spellings {
  const parts: Field = { of: { fields: PART_FIELDS, rewrite } }
  const noParts = { parts: [] }
  const message: Spelling = {
    fields: {
      messageId: ID,
      role: ROLE,
      parts,
      // The name in the ProtoJSON of 0.3.
      content: { ...parts, name: 'parts' },
      contextId: FILLED,
      taskId: FILLED,
    },
    defaults: noParts,
    ...(ids.message && { rewrite: ids.message }),
  }
  const artifact: Field = {
    of: {
      fields: { artifactId: ID, parts },
      defaults: noParts,
      ...(ids.artifact && { rewrite: ids.artifact }),
    },
  }
  const status: Field = {
    of: {
      fields: {
        state: STATE,
        message: { of: message },
        // The name in the ProtoJSON of 0.3.
        update: { of: message, name: 'message' },
        timestamp: FILLED,
      },
    },
  }
  const task: Spelling = {
    fields: { id: ID, contextId: FILLED, status, artifacts: artifact, history: { of: message } },
  }
  const about = { taskId: ID, contextId: FILLED }
  return {
    message,
    task,
    statusUpdate: { fields: { ...about, status } },
    artifactUpdate: { fields: { ...about, artifact } },
    taskPage: { fields: { tasks: { of: task } }, defaults: { tasks: [], nextPageToken: '' } },
  }
}

/** They differ in the data of parts, and in what agents leave out. */
export const SPELLINGS = {
  new: spellingsOf(rewritePart),
  old: spellingsOf(rewriteOldPart, { message: withMessageId, artifact: withArtifactId }),
}

/** A configuration is flat in 1.0 and nested in 0.3. In the ProtoJSON of 0.3 a name contains both ids. */
function rewritePushConfig(registered: Unread, path: Path): Unread {
  const { pushNotificationConfig: nested, taskId } = registered
  if (nested != null && !isRecord(nested)) throw notAnObject(nested, [...path, 'pushNotificationConfig'])
  const config = nested ?? registered
  const name = (nested && textOf(registered, 'name', path)) ?? ''
  const [, namedTask, namedConfig] = /^tasks\/([^/]+)\/pushNotificationConfigs\/([^/]+)$/.exec(name) ?? []
  return {
    ...config,
    // A client does not use it, so its type does not matter.
    tenant: undefined,
    taskId: isEmpty(taskId) ? namedTask : taskId,
    id: isEmpty(config['id']) ? namedConfig : config['id'],
    authentication: rewriteAuthentication(config['authentication'], [...path, 'authentication']),
  }
}

/** 0.3 has a list of schemes. The first one is used. */
function rewriteAuthentication(authentication: unknown, path: Path): unknown {
  if (!isRecord(authentication)) return authentication
  const { schemes } = authentication
  const credentials = textOf(authentication, 'credentials', path)
  const scheme = textOf(authentication, 'scheme', path)
  const first =
    isEmpty(scheme) && schemes != null
      ? validate(strings, schemes, pathText([...path, 'schemes']))[0]
      : scheme
  if (isEmpty(first)) return undefined
  return { scheme: first, ...(!isEmpty(credentials) && { credentials }) }
}

export const PUSH_CONFIG: Spelling = {
  fields: { id: FILLED, taskId: FILLED, url: ID, token: FILLED },
  rewrite: rewritePushConfig,
}

export const PUSH_CONFIG_PAGE: Spelling = {
  fields: { configs: { of: PUSH_CONFIG } },
  defaults: { configs: [], nextPageToken: '' },
}
