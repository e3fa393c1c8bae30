/**
 * Approvals of calls of tools, by the user of the agent.
 *
 * @module
 */
import { isRecord } from '../runtime/unread.js'
import { failed, inputField, jsonOf, keepCall, showCall, type Turn } from './turn.js'
import type { ApprovalRule, ApprovalStatus, CallToApprove } from './types.js'

/** Options of `approval`. */
export interface ApprovalOptions {
  /** What the user is asked. Default is `book({"city":"Rome"})?`, with all of the input. */
  readonly message?: ((call: CallToApprove['toolCall']) => string) | undefined
  /** The time after which a call counts as rejected, in ms. Default is none. */
  readonly expiresInMs?: number | undefined
  /**
   * The ids of the principals who may approve, 1 to 100, as `answeredBy` of `run.approve`; or what returns them for a call, and
   * `undefined` for one that the owner of the task approves. Default is the owner.
   */
  readonly answeredBy?:
    readonly string[] | ((call: CallToApprove['toolCall']) => readonly string[] | undefined) | undefined
}

/** The names of these options. */
export const APPROVAL_OPTIONS = ['message', 'expiresInMs', 'answeredBy']

/** The most characters of the name of a question. */
const MAX_NAME = 150
/** How often the user may say something else. */
const MAX_ATTEMPTS = 100

/** AI SDK's option `toolApproval`: asks the user where a rule says `'user-approval'`. */
export function durableApproval(
  turn: Turn,
  rules: Readonly<Record<string, ApprovalRule>>,
  options: ApprovalOptions,
): (call: CallToApprove) => Promise<ApprovalStatus> {
  turn.rules.push(rules)
  return async ({ toolCall, tools }) => {
    const { toolCallId: id, toolName: name, input } = toolCall
    const unknown = tools && unknownIn(rules, (known) => Object.hasOwn(tools, known))
    if (tools !== undefined && unknown !== undefined) {
      const known = Object.keys(tools).join(', ')
      const error = new TypeError(`ai.approval() has a rule for "${unknown}"; the tools are ${known}`)
      throw failed(turn, error, id)
    }
    let decision = await decide(rules, name, tools?.[name], input)
    if (typeOf(decision) === 'user-approval') {
      const reason = await askForApproval(turn, toolCall, options)
      decision = reason === undefined ? { type: 'approved' } : { type: 'denied', reason }
    }
    if (typeOf(decision) === 'denied') rejectCall(turn, { id, name, input })
    else turn.allowed.add(keyOf(id, name))
    return decision
  }
}

/** Asks the user about a call. Resolves to why it is not approved, if it is not. */
export async function askForApproval(
  turn: Turn,
  call: CallToApprove['toolCall'],
  { message = defaultMessage, expiresInMs, answeredBy }: ApprovalOptions,
): Promise<string | undefined> {
  const { toolCallId, toolName } = call
  let verdict: string
  try {
    verdict = await turn.run.approve(toolName.slice(0, MAX_NAME), {
      message: message(call),
      // Words that are no verdict ask again.
      attempts: MAX_ATTEMPTS,
      expiresInMs,
      answeredBy: typeof answeredBy === 'function' ? answeredBy(call) : answeredBy,
      toolCallId,
    })
  } catch (error) {
    throw failed(turn, error, call.toolCallId)
  }
  if (verdict === 'approve') return undefined
  return verdict === 'expired' ? 'Nobody has approved it' : 'The user has rejected it'
}

/** Clients see that the call is not made, and later turns know it. */
export function rejectCall(
  turn: Turn,
  { id, name, input }: { readonly id: string; readonly name: string; readonly input: unknown },
): void {
  const call = { id, name, state: 'rejected', ...inputField(input) } as const
  showCall(turn, call)
  keepCall(turn, call)
}

/**
 * Requires that the framework has asked for a call for which there may be a rule: versions of AI SDK before 7 do not, nor does
 * code that leaves out the option.
 *
 * @throws {TypeError} when a rule does not let the call pass, and for a rule for a tool that is not there.
 */
export async function requireAsked(
  { rules: all, allowed, toolNames }: Turn,
  {
    id,
    name,
    tool,
    input,
  }: { readonly id: string; readonly name: string; readonly tool: object; readonly input: unknown },
): Promise<void> {
  if (allowed.delete(keyOf(id, name))) return
  for (const rules of all) {
    const unknown = unknownIn(rules, (known) => toolNames.has(known))
    const type = unknown === undefined ? typeOf(await decide(rules, name, tool, input)) : 'denied'
    if (type !== 'user-approval' && type !== 'denied') continue
    throw new TypeError(
      `"${name}" was not called: AI SDK did not ask ai.approval() for it. Pass what that returns as "toolApproval" to AI SDK 7; version 6 ignores it`,
    )
  }
}

/** A rule for a name that no tool has would leave a tool without the approval that was meant for it. */
function unknownIn(rules: object, isKnown: (name: string) => boolean): string | undefined {
  return Object.keys(rules).find((name) => !isKnown(name))
}

function keyOf(id: string, name: string): string {
  return `${name} ${id}`
}

function typeOf(status: ApprovalStatus): string | undefined {
  return typeof status === 'object' ? status.type : status
}

/** AI SDK's older way: the tool itself says whether it needs an approval. */
function ruleOf(tool: object | undefined): ApprovalRule {
  const needs = isRecord(tool) ? tool['needsApproval'] : undefined
  if (typeof needs !== 'function') return needs === true ? 'user-approval' : undefined
  // AI SDK calls it with the input of its tool.
  const decides = needs as (input: unknown) => unknown
  return async (input: unknown) => ((await decides(input)) === true ? 'user-approval' : undefined)
}

async function decide(
  rules: Readonly<Record<string, ApprovalRule>>,
  name: string,
  tool: object | undefined,
  input: unknown,
): Promise<ApprovalStatus> {
  const rule = Object.hasOwn(rules, name) ? rules[name] : ruleOf(tool)
  return typeof rule === 'function' ? await rule(input) : rule
}

function defaultMessage({ toolName, input }: CallToApprove['toolCall']): string {
  return `${toolName}(${jsonOf(input) ?? ''})?`
}
