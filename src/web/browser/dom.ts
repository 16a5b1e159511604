/** The path below which all pages are; empty at the root of a host. This script is the file dom.js in the folder assets/ below it. */
export const ROOT = new URL('..', import.meta.url).pathname.slice(0, -1)

export type Child = Node | string | null | undefined | false

/**
 * Makes an element. A text becomes a text node, never markup; an attribute that is false is left out. A link to a path leads below
 * ROOT.
 */
export function make<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  attributes: Readonly<Record<string, string | number | boolean | undefined>> = {},
  ...children: readonly Child[]
): HTMLElementTagNameMap[Tag] {
  const element = document.createElement(tag)
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === false) continue
    const isPath = name === 'href' && String(value).startsWith('/')
    element.setAttribute(name, value === true ? '' : `${isPath ? ROOT : ''}${value}`)
  }
  element.append(...children.filter(isShown))
  return element
}

/** Makes an element of a drawing. */
export function makeSvg(
  tag: string,
  attributes: Readonly<Record<string, string | number>>,
  ...children: readonly SVGElement[]
): SVGElement {
  const element = document.createElementNS('http://www.w3.org/2000/svg', tag)
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value))
  element.append(...children)
  return element
}

/** Finds an element of the page's frame. */
export function find(selector: string): HTMLElement {
  const element = document.querySelector<HTMLElement>(selector)
  if (!element) throw new Error(`the page has no ${selector}`)
  return element
}

/** Replaces the children of `host`. A focus inside it moves to the new element with the same id or link. */
export function refill(host: HTMLElement, ...children: readonly Child[]): void {
  const active = document.activeElement
  const selector = active && host.contains(active) ? nameOf(active) : undefined
  host.replaceChildren(...children.filter(isShown))
  if (selector) host.querySelector<HTMLElement>(selector)?.focus({ preventScroll: true })
}

/** Makes a function that draws `host` again only when its content has changed, so that the page does not move without reason. */
export function makePlace<T>(host: HTMLElement, draw: (shown: T) => readonly Child[]): (shown: T) => void {
  let last: string | undefined
  return (shown) => {
    const text = JSON.stringify(shown)
    if (text === last) return
    last = text
    refill(host, ...draw(shown))
  }
}

function isShown(child: Child): child is Node | string {
  return child !== null && child !== undefined && child !== false
}

function nameOf(element: Element): string | undefined {
  if (element.id) return `#${CSS.escape(element.id)}`
  const href = element.getAttribute('href')
  return href ? `[href="${CSS.escape(href)}"]` : undefined
}

export type Mood = 'good' | 'busy' | 'bad' | 'plain'

const SIGNS: Readonly<Record<Mood, string>> = { good: '✓', busy: '…', bad: '!', plain: '·' }

/** Makes a state as a word with a sign, so that it can be read without its colour. */
export function makeBadge(text: string, mood: Mood): HTMLElement {
  return make('span', { class: `badge ${mood}` }, make('span', { 'aria-hidden': 'true' }, SIGNS[mood]), text)
}
