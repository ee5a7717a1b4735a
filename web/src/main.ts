// SPDX-License-Identifier: Apache-2.0
import { Page } from "./page";
import { unpacked } from "./container";
import type { PageDocument } from "./document";

async function start(): Promise<void> {
  const root = document.getElementById("page")!;
  try {
    const text = document.getElementById("data")!.textContent ?? "";
    const page = new Page(root, (await unpacked(text)) as PageDocument);
    (window as unknown as { leowarp: Page }).leowarp = page;
    page.start();
  } catch (error) {
    root.replaceChildren();
    const message = document.createElement("p");
    message.className = "failed";
    message.textContent = `This page cannot be shown: ${String(error)}. It needs a browser of 2023 or newer (DecompressionStream).`;
    root.append(message);
    throw error;
  }
}

void start();
