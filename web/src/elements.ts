// SPDX-License-Identifier: Apache-2.0
// Functions that create HTML elements.

/** Appends a new element to another. */
export function make<K extends keyof HTMLElementTagNameMap>(tag: K, name: string, parent: HTMLElement): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  element.className = name;
  parent.append(element);
  return element;
}

export function makeButton(parent: HTMLElement, text: string, title: string, act: () => void): HTMLButtonElement {
  const element = make("button", "", parent);
  element.textContent = text;
  element.title = title;
  element.setAttribute("aria-label", title);
  element.addEventListener("click", act);
  return element;
}

/** A selection list; `options` are values and texts. */
export function makeChoice(
  parent: HTMLElement,
  name: string,
  label: string,
  options: [string, string][],
  act: (value: string) => void,
): HTMLSelectElement {
  const choice = make("select", name, parent);
  choice.setAttribute("aria-label", label);
  for (const [value, text] of options) {
    const option = make("option", "", choice);
    option.value = value;
    option.textContent = text;
  }
  choice.addEventListener("change", () => act(choice.value));
  return choice;
}

/** A check box. */
export function makeTick(parent: HTMLElement, text: string, ticked: boolean, act: (ticked: boolean) => void): HTMLInputElement {
  const box = make("label", "option", parent);
  const input = make("input", "", box);
  input.type = "checkbox";
  input.checked = ticked;
  input.addEventListener("change", () => act(input.checked));
  box.append(` ${text}`);
  return input;
}

/** Performs the action of a key unless the user is typing in an input. Returns whether the action was performed. */
export function pressed(event: KeyboardEvent, acts: Record<string, () => void>): boolean {
  if (event.ctrlKey || event.metaKey || event.altKey) return false;
  const target = event.target as HTMLElement;
  if (["INPUT", "SELECT", "TEXTAREA"].includes(target.tagName)) return false;
  if (target.tagName === "BUTTON" && (event.key === " " || event.key === "Enter")) return false;
  const act = acts[event.key];
  if (act === undefined) return false;
  event.preventDefault();
  act();
  return true;
}
