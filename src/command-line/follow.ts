/**
 * Run of a task in the terminal: its progress, its questions, Ctrl-C, its result, and how to continue.
 *
 * @module
 */
import { A2AError, type JsonValue } from 'a2a-tasks'
import {
  textOf,
  type AgentQuestion,
  type QuestionAnswers,
  type RemoteTask,
  type RunHandle,
  type RunOptions,
  type RunResult,
  type RunUpdate,
} from 'a2a-tasks/client'
import type { Arguments } from './arguments.js'
import { explain } from './connection/explain.js'
import { encodeHandle } from './connection/handle.js'
import { EXIT, type ExitCode } from './exit-codes.js'
import { failureLines } from './failure.js'
import { artifactsText, partsText } from './render/parts.js'
import { Progress } from './render/progress.js'
import { spentLines } from './render/task.js'
import type { Options } from './syntax.js'
import { enterAnswer } from './terminal/form.js'
import { onInterrupts, type Interrupts } from './terminal/interrupt.js'
import { printableLine } from './terminal/printable.js'
import { openPrompt, type Prompt } from './terminal/prompt.js'
import { bold, red } from './terminal/style.js'
import type { Terminal } from './terminal/terminal.js'

export const FOLLOW_OPTIONS: Options = {
  stream: { type: 'boolean', help: 'Print artifacts as they grow. With --json: one line for each event' },
  quiet: { type: 'boolean', short: 'q', help: 'Print the result only' },
}

export interface Followed {
  readonly url: string
  readonly profile?: string | undefined
  /** Whether Ctrl-C cancels the task, and questions are asked. Otherwise the task is only watched. */
  readonly isOwn: boolean
  readonly start: (options: RunOptions) => Promise<RunResult>
}

/** Follows a run to its end and prints what comes of it. */
export async function follow(args: Arguments, terminal: Terminal, followed: Followed): Promise<ExitCode> {
  const view = new FollowedRun(args, terminal, followed)
  return await view.run()
}

class FollowedRun {
  readonly #args: Arguments
  readonly #terminal: Terminal
  readonly #followed: Followed
  readonly #progress: Progress
  readonly #canceled = new AbortController()
  readonly #interrupts: Interrupts
  readonly #isJson: boolean
  readonly #isStream: boolean
  #handle: RunHandle | undefined
  /** The message that asks what is being answered, and what was entered for the ids of its questions. */
  #asking: string | undefined
  readonly #entered = new Map<string, JsonValue>()
  /** Whether the user has left a question. */
  #hasLeft = false

  constructor(args: Arguments, terminal: Terminal, followed: Followed) {
    this.#args = args
    this.#terminal = terminal
    this.#followed = followed
    this.#isJson = args.flag('json')
    this.#isStream = args.flag('stream')
    this.#progress = new Progress(terminal, { streams: this.#isStream && !this.#isJson })
    this.#interrupts = onInterrupts(
      () => this.#interrupt(),
      () => {
        terminal.out.endLine()
        this.#tellHandle('The task continues')
      },
    )
  }

  async run(): Promise<ExitCode> {
    const seconds = this.#args.number('timeout')
    try {
      const result = await this.#followed.start({
        signal: this.#canceled.signal,
        ...(seconds !== undefined && { timeoutMs: seconds * 1_000 }),
        onStart: (handle) => {
          this.#handle = handle
        },
        onUpdate: (update) => {
          this.#handle = update.handle
          const { event } = update
          if (this.#isJson && this.#isStream) this.#terminal.out.jsonLine({ event }, sourceOf(event))
          if (!this.#isJson && !this.#args.flag('quiet')) this.#progress.show(update)
          if (!this.#isJson && this.#args.flag('quiet') && event.type === 'artifact')
            this.#progress.show(update)
        },
        ...(this.#canAsk && {
          onInputRequired: (task) => this.#ask(task),
          onQuestions: (questions, task) => this.#fill(questions, task),
          onAuthRequired: (_, questions) => this.#tellWhere(questions),
        }),
      })
      this.#terminal.out.endLine()
      if (this.#isJson) this.#showJson(result)
      else {
        this.#showResult(result)
        const { task, type } = result
        // People paste what a question ends with.
        const isAsking = type === 'input-required' || type === 'auth-required'
        if (task !== undefined && !isAsking && !this.#args.flag('quiet'))
          this.#terminal.err.line(...spentLines(task))
      }
      return this.#exitCodeOf(result)
    } finally {
      this.#interrupts.dispose()
    }
  }

  get #canAsk(): boolean {
    return this.#followed.isOwn && this.#terminal.isInteractive && !this.#isJson
  }

  /** The text of the question is shown as the status of the task. */
  async #ask({ message }: RemoteTask): Promise<string | undefined> {
    if (this.#hasLeft) return undefined
    const { err } = this.#terminal
    if (this.#args.flag('quiet'))
      err.line(message === undefined ? 'The agent asks' : saidText(textOf(message)))
    return await this.#prompted(({ ask }) => ask(false))
  }

  /** Asks for the value of each question. Of what the agent refuses, only the field that it names is asked again. */
  async #fill(
    questions: readonly AgentQuestion[],
    { message }: RemoteTask,
  ): Promise<QuestionAnswers | undefined> {
    if (this.#asking !== message?.messageId) this.#entered.clear()
    this.#asking = message?.messageId
    const { err } = this.#terminal
    const say = (...lines: readonly string[]): void => err.line(...lines)
    const refuse = (problem: string): void => err.line(`  ${red(printableLine(problem, 1_000))}`)
    const isShown = questions.length === 1 && !this.#args.flag('quiet')
    return await this.#prompted(async ({ ask }) => {
      for (const question of questions) {
        const { id, problem } = question
        const before = this.#entered.get(id)
        if (before !== undefined && problem === undefined) continue
        if (!isShown) err.line(`  ${saidText(question.message)}`)
        if (problem !== undefined) refuse(problem)
        const value = await enterAnswer({ say, refuse, ask }, question, before)
        if (value === undefined) return undefined
        this.#entered.set(id, value)
      }
      return Object.fromEntries(questions.map(({ id }) => [id, this.#entered.get(id)]))
    })
  }

  async #prompted<T>(ask: (prompt: Prompt) => Promise<T | undefined>): Promise<T | undefined> {
    const { signal } = this.#canceled
    const prompt = openPrompt(this.#terminal.err, { signal, onInterrupt: this.#interrupts.interrupt })
    try {
      const answer = await ask(prompt)
      this.#hasLeft = answer === undefined
      return answer
    } finally {
      prompt.close()
    }
  }

  #tellWhere(questions: readonly AgentQuestion[]): void {
    const { err } = this.#terminal
    const where = questions.flatMap(({ url }) =>
      url === undefined ? [] : [`To authorize, open: ${bold(url)}`],
    )
    err.line(...where, 'Waiting until the agent has what it needs. Ctrl-C cancels the task')
  }

  #interrupt(): void {
    const { err } = this.#terminal
    if (!this.#followed.isOwn) {
      this.#tellHandle('The task continues')
      process.exit(EXIT.interrupted)
    }
    this.#terminal.out.giveWay()
    err.line('Canceling the task. Press Ctrl-C again to leave it running')
    this.#canceled.abort()
  }

  #showResult(result: RunResult): void {
    const { out, err } = this.#terminal
    switch (result.type) {
      case 'completed':
        if (this.#progress.hasWritten) return
        out.text(artifactsText(result.task.artifacts) || result.text)
        return
      case 'message':
        out.text(partsText(result.message.parts).trimEnd())
        return
      case 'failed':
      case 'rejected':
      case 'canceled':
        err.line(`${red(ENDS[result.type])}${withText(result.text)}`)
        return
      case 'input-required':
        this.#tellAnswer(result.task.id, result.text)
        return
      case 'auth-required':
        err.line(`The agent waits for credentials${withText(result.text)}`)
        this.#tellHandle('When it has them')
        return
      case 'aborted':
        err.line(red('The agent did not confirm that the task is canceled'))
        this.#tellHandle('It may continue')
        return
      case 'timed-out':
        err.line(red(`The time limit has passed. The task continues`))
        this.#tellHandle('To wait for longer')
        return
      case 'error':
        this.#tellFailure(result.error)
    }
  }

  #tellAnswer(taskId: string, question: string): void {
    const { url, profile } = this.#followed
    this.#terminal.err.line(
      `The agent asks: ${saidText(question)}`,
      `To answer: ${bold(`npx a2a-tasks send ${quoted(url)} 'ANSWER' --task ${quoted(taskId)}${profileOption(profile)}`)}`,
    )
  }

  #tellFailure(error: unknown): void {
    this.#terminal.err.line(...failureLines(explain(error, this.#followed.url)))
    // Without an id, the agent has most likely not got the message.
    if (this.#handle?.taskId !== undefined && !isOver(error)) this.#tellHandle('To try again')
  }

  /** How to continue, as far as there is a task. */
  #tellHandle(why: string): void {
    const command = this.#resumeCommand()
    if (command === undefined) return
    this.#terminal.out.giveWay()
    this.#terminal.err.line(`${why}: ${bold(command)}`)
  }

  #resumeCommand(): string | undefined {
    if (this.#handle === undefined) return undefined
    return `npx a2a-tasks resume ${this.#savedHandle(this.#handle)}`
  }

  #savedHandle(handle: RunHandle): string {
    const { url, profile } = this.#followed
    return encodeHandle({ url, handle, ...(profile !== undefined && { profile }) })
  }

  #showJson(result: RunResult): void {
    const { type, ok, text } = result
    this.#terminal.out.json(
      {
        type,
        ok,
        text,
        ...('task' in result && { task: result.task }),
        ...('message' in result && { message: result.message }),
        ...('error' in result && { error: { code: result.error.code, message: result.error.message } }),
        ...('handle' in result &&
          !('error' in result && isOver(result.error)) && { resume: this.#savedHandle(result.handle) }),
      },
      this.#isStream ? undefined : 2,
    )
  }

  #exitCodeOf(result: RunResult): ExitCode {
    if (result.ok) return EXIT.ok
    if (this.#canceled.signal.aborted) return EXIT.interrupted
    if (result.type === 'input-required' || result.type === 'auth-required') return EXIT.waiting
    if (result.type === 'timed-out') return EXIT.timedOut
    return result.type === 'error' ? explain(result.error).exitCode : EXIT.negative
  }
}

/** Chunks of one artifact make one text. */
function sourceOf(event: RunUpdate['event']): string {
  return event.type === 'artifact' ? `artifact ${event.artifact.artifactId}` : event.type
}

/** What an agent says, on one line. */
function saidText(text: string): string {
  return printableLine(text, 4_000)
}

function withText(text: string): string {
  return text === '' ? '' : `: ${saidText(text)}`
}

/** Whether no attempt to resume can help. Agents of 1.0 call a message to an ended task an unsupported operation. */
function isOver(error: unknown): boolean {
  const codes = ['TASK_NOT_FOUND', 'TASK_TERMINAL', 'UNSUPPORTED_OPERATION'] as const
  return codes.some((code) => A2AError.is(error, code))
}

const ENDS = {
  failed: 'The task has failed',
  rejected: 'The agent has rejected the task',
  canceled: 'The task is canceled',
}

function profileOption(profile: string | undefined): string {
  return profile === undefined ? '' : ` --profile ${quoted(profile)}`
}

/** A word for a shell. Ids are of agents, so they are quoted unless they are plain. */
export function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`
}
