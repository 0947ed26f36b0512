const words = (text: string): ReadonlySet<string> => new Set(text.trim().split(/\s+/u));

/**
 * Elements that draw, describe or animate. Whatever is not named here goes with all that it holds: scripts,
 * foreign objects, media.
 */
export const ELEMENTS = words(`
  svg g defs symbol use a switch view title desc
  path rect circle ellipse line polyline polygon image text tspan textPath
  linearGradient radialGradient stop pattern marker mask clipPath style
  filter feBlend feColorMatrix feComponentTransfer feComposite feConvolveMatrix feDiffuseLighting feDisplacementMap
  feDistantLight feDropShadow feFlood feFuncA feFuncB feFuncG feFuncR feGaussianBlur feImage feMerge feMergeNode
  feMorphology feOffset fePointLight feSpecularLighting feSpotLight feTile feTurbulence
  animate animateMotion animateTransform set mpath
`);

/** Attributes whose value is CSS. */
export const PRESENTATION = words(`
  alignment-baseline baseline-shift clip clip-path clip-rule color color-interpolation color-interpolation-filters
  color-rendering cursor direction display dominant-baseline enable-background fill fill-opacity fill-rule filter
  flood-color flood-opacity font-family font-feature-settings font-kerning font-size font-size-adjust font-stretch
  font-style font-variant font-variation-settings font-weight glyph-orientation-horizontal
  glyph-orientation-vertical image-rendering isolation kerning letter-spacing lighting-color marker marker-end
  marker-mid marker-start mask mask-type mix-blend-mode opacity overflow paint-order pointer-events shape-rendering
  stop-color stop-opacity stroke stroke-dasharray stroke-dashoffset stroke-linecap stroke-linejoin
  stroke-miterlimit stroke-opacity stroke-width text-anchor text-decoration text-overflow text-rendering
  transform-box transform-origin unicode-bidi vector-effect visibility white-space word-spacing writing-mode
`);

/** Attributes that hold numbers, keywords, paths, names or text, and can load nothing. */
export const PLAIN = words(`
  accumulate additive amplitude aria-describedby aria-hidden aria-label aria-labelledby aria-roledescription
  attributeName attributeType azimuth baseFrequency baseProfile begin bias by calcMode class clipPathUnits
  contentScriptType contentStyleType cx cy d diffuseConstant divisor dur dx dy edgeMode elevation end exponent
  filterRes filterUnits focusable fr from fx fy gradientTransform gradientUnits height id in in2 intercept
  k1 k2 k3 k4 kernelMatrix kernelUnitLength keyPoints keySplines keyTimes lang lengthAdjust limitingConeAngle
  markerHeight markerUnits markerWidth maskContentUnits maskUnits max media method min mode numOctaves offset
  operator order orient origin path pathLength patternContentUnits patternTransform patternUnits points
  pointsAtX pointsAtY pointsAtZ preserveAlpha preserveAspectRatio primitiveUnits r radius refX refY repeatCount
  repeatDur requiredFeatures restart result role rotate rx ry scale seed side slope spacing specularConstant
  specularExponent spreadMethod startOffset stdDeviation stitchTiles surfaceScale systemLanguage tabindex
  tableValues targetX targetY textLength to transform type values version viewBox viewTarget width x x1 x2
  xChannelSelector y y1 y2 yChannelSelector z zoomAndPan
`);

/**
 * Elements that change attributes of others in time. What they may change is limited like the attributes
 * themselves.
 */
export const ANIMATIONS = words('animate animateTransform set');

/** Attributes of animations that hold values for the attribute that they change. */
export const ANIMATED_VALUES = words('from to by values');
