export type Child = Node | string | null | undefined | false

/** Makes an element. Texts become text nodes, whatever they hold, and never markup; an attribute that is false is left out. */
export function make<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  attributes: Readonly<Record<string, string | number | boolean | undefined>> = {},
  ...children: readonly Child[]
): HTMLElementTagNameMap[Tag] {
  const element = document.createElement(tag)
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== undefined && value !== false)
      element.setAttribute(name, value === true ? '' : String(value))
  }
  element.append(...children.filter(isShown))
  return element
}

/** Finds an element of the page's frame. */
export function find(selector: string): HTMLElement {
  const element = document.querySelector<HTMLElement>(selector)
  if (!element) throw new Error(`the page has no ${selector}`)
  return element
}

/** Replaces what is in `host`, and puts the focus back on the link or control of the same name if it was in there. */
export function refill(host: HTMLElement, ...children: readonly Child[]): void {
  const active = document.activeElement
  const selector = active && host.contains(active) ? nameOf(active) : undefined
  host.replaceChildren(...children.filter(isShown))
  if (selector) host.querySelector<HTMLElement>(selector)?.focus({ preventScroll: true })
}

/** Makes a place of the page that is drawn again only when what it shows has changed, so that nothing moves for nothing. */
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
