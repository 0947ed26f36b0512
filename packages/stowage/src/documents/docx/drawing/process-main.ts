import sharp from 'sharp';
import { drawSvg } from './draw-svg.ts';
import type { DrawnAnswer, DrawingOrder } from './drawing-process.ts';

// This process draws for its parent and has nothing else to do.
process.on('message', ({ svg, maxPixels }: DrawingOrder) => {
  const answer = (drawn: DrawnAnswer): void => void process.send?.(drawn);
  drawSvg(sharp, Buffer.from(svg), maxPixels).then(
    (picture) => answer({ picture }),
    (error: unknown) => answer({ detail: error instanceof Error ? error.message : '' }),
  );
});

// A process that ends by itself waits for the drawing under way; without a parent it is not wanted any more.
process.on('disconnect', () => process.kill(process.pid, 'SIGKILL'));
