/**
 * Approvals of calls of tools, by the user of the agent.
 *
 * @module
 */
import { isRecord } from '../runtime/unread.js'
import { failed, inputField, jsonOf, keepCall, showCall, type Turn } from './turn.js'
import type { ApprovalStatus, CallToApprove } from './types.js'

/** A rule for one tool: a decision, or a function of the call's input that makes it. */
export type ApprovalRule = ApprovalStatus | ((input: never) => ApprovalStatus | PromiseLike<ApprovalStatus>)

/** Options of `approval`. */
export interface ApprovalOptions {
  /** What the user is asked. Default is `book({"city":"Rome"})?`, with all of the input. */
  readonly message?: ((call: CallToApprove['toolCall']) => string) | undefined
  /** The time after which a call counts as rejected, in ms. Default is none. */
  readonly expiresInMs?: number | undefined
}

/** The most characters of the name of a question. */
const MAX_NAME = 150

/** AI SDK's option `toolApproval`: asks the user where a rule says `'user-approval'`. */
export function durableApproval(
  turn: Turn,
  rules: Readonly<Record<string, ApprovalRule>>,
  options: ApprovalOptions,
): (call: CallToApprove) => Promise<ApprovalStatus> {
  return async ({ toolCall, tools }) => {
    const { toolCallId: id, toolName: name, input } = toolCall
    if (tools !== undefined) requireTools(turn, Object.keys(rules), tools)
    const status = await decide(Object.hasOwn(rules, name) ? rules[name] : ruleOf(tools?.[name]), input)
    const type = typeof status === 'object' ? status.type : status
    let decision: ApprovalStatus = status
    if (type === 'user-approval') {
      const reason = await askForApproval(turn, toolCall, options)
      if (reason === undefined) return { type: 'approved' }
      decision = { type: 'denied', reason }
    } else if (type !== 'denied') return status
    rejectCall(turn, { id, name, input })
    return decision
  }
}

/** Asks the user about a call, when no other call is asked about. Resolves to why it is not approved, if it is not. */
export async function askForApproval(
  turn: Turn,
  call: CallToApprove['toolCall'],
  { message = defaultMessage, expiresInMs }: ApprovalOptions,
): Promise<string | undefined> {
  const ask = async (): Promise<string> =>
    await turn.run.approve(call.toolName.slice(0, MAX_NAME), { message: message(call), expiresInMs })
  const asked = turn.asking.then(ask)
  turn.asking = asked.catch(() => undefined)
  let verdict: string
  try {
    verdict = await asked
  } catch (error) {
    throw failed(turn, error)
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

/** A rule for a name that no tool has would leave a tool without the approval that was meant for it. */
function requireTools(turn: Turn, rules: readonly string[], tools: object): void {
  const unknown = rules.find((name) => !Object.hasOwn(tools, name))
  if (unknown === undefined) return
  const known = Object.keys(tools).join(', ')
  throw failed(turn, new TypeError(`ai.approval() has a rule for "${unknown}"; the tools are ${known}`))
}

/** AI SDK's older way: the tool itself says whether it needs an approval. */
function ruleOf(tool: object | undefined): ApprovalRule {
  const needs = isRecord(tool) ? tool['needsApproval'] : undefined
  if (typeof needs !== 'function') return needs === true ? 'user-approval' : undefined
  // AI SDK calls it with the input of its tool.
  const decides = needs as (input: unknown) => unknown
  return async (input: unknown) => ((await decides(input)) === true ? 'user-approval' : undefined)
}

async function decide(rule: ApprovalRule, input: unknown): Promise<ApprovalStatus> {
  // The rule of a tool gets the input of this tool, which AI SDK has validated.
  return typeof rule === 'function' ? await rule(input as never) : rule
}

function defaultMessage({ toolName, input }: CallToApprove['toolCall']): string {
  return `${toolName}(${jsonOf(input) ?? ''})?`
}
