/**
 * A message to a task: the answer to its question, or a further one.
 *
 * @module
 */
import { html } from 'htm/preact'
import type { VNode } from 'preact'
import { useId, useState } from 'preact/hooks'
import { api, type Session } from '../api.js'
import { Confirm } from '../confirm.js'
import { useDraft } from '../message.js'
import { askedBy, type Asked } from './asked.js'
import { FormReply } from './form-reply.js'
import type { Snapshot } from './log.js'
import { Question } from './question.js'

interface ReplyProps {
  readonly session: Session
  readonly task: Snapshot
}

/** Whether {@link Reply} shows the question of a task, with the form of its answer. */
export function isAsked({ lifecycle, actions }: Session, { state }: Snapshot): boolean {
  return actions.includes('answer') && lifecycle.interrupted.includes(state)
}

export function Reply({ session, task }: ReplyProps): VNode | null {
  const { lifecycle, actions } = session
  if (!actions.includes('answer') || lifecycle.terminal.includes(task.state)) return null
  if (!isAsked(session, task)) return html`<${FreeReply} session=${session} task=${task} />`
  const questions = askedBy(task)
  const others = othersWhoAnswer(session, task, questions)
  if (others !== undefined)
    return html`<section class="reply question" aria-label="Question">
      <${Question} id="others" task=${task} />
      <p class="quiet">Waits for the answer of ${others.join(' or ')}</p>
    </section>`
  // What is entered for a question that is asked again, or beside one that is answered, stays.
  if (questions.some(({ id }) => id !== ''))
    return html`<${FormReply} key="questions" task=${task} questions=${questions} />`
  const form = questions.length > 0 && html`<${FormReply} task=${task} questions=${questions} />`
  // Each question without an id has a form of its own.
  return html`<div key=${questionId(task)}>
    ${form || html`<${FreeReply} session=${session} task=${task} isAnswer />`}
  </div>`
}

/** Who may answer, where the agent takes no answer of the owner of the task, as whom the page sends. */
function othersWhoAnswer(
  { sender }: Session,
  { owner = sender ?? '' }: Snapshot,
  questions: readonly Asked[],
): readonly string[] | undefined {
  const answeredBy = questions.find((each) => each.answeredBy !== undefined)?.answeredBy
  return answeredBy?.includes(owner.slice(owner.lastIndexOf('\n') + 1)) === true ? undefined : answeredBy
}

function questionId({ message }: Snapshot): string {
  return typeof message === 'object' ? message.messageId : (message ?? '')
}

interface FreeProps extends ReplyProps {
  readonly isAnswer?: boolean
}

/** A text, and files. */
function FreeReply({ session, task, isAnswer = false }: FreeProps): VNode {
  const [isAsking, setAsking] = useState(false)
  const id = useId()
  const draft = useDraft(session)
  const submit = (event: Event): void => {
    event.preventDefault()
    if (draft.isReady) setAsking(true)
  }
  return html`<form class=${isAnswer ? 'reply question' : 'reply'} onSubmit=${submit}>
    ${isAnswer && html`<${Question} id=${id} task=${task} />`}
    ${draft.textField(isAnswer ? { id } : 'Message to the agent')}
    <button type="submit" class="solid" disabled=${!draft.isReady}>${isAnswer ? 'Answer' : 'Send'}</button>
    ${draft.fileField}
    ${
      isAsking &&
      html`<${Confirm}
        title=${isAnswer ? 'Send this answer?' : 'Send this message?'}
        text=${draft.summary}
        verb="Send"
        act=${async () => api.send({ ...(await draft.content()), taskId: task.id })}
        close=${(done: boolean) => {
          setAsking(false)
          if (done) draft.clear()
        }}
      />`
    }
  </form>`
}
